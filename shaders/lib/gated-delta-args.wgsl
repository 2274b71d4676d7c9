// Arguments and operands of both kernels of the gated delta rule.
struct Args {
  key_heads: u32,
  heads: u32,        // value heads
  tiled: u32,        // 1: value head h reads key head h mod key_heads; 0: consecutive value heads share one
  key_quads: u32,    // quads of a key head
  value_quads: u32,
  qkv_quads: u32,    // quads from one row of qkv to the next
  terms: u32,        // pairs from one row of terms to the next
  y_quads: u32,
  state_first: u32,  // quads of a slot before the states of the heads
  state_stride: u32, // quads of a slot
}

@group(0) @binding(0) var<storage, read> qkv: array<vec4f>; // queries of all key heads, keys of all, values
@group(0) @binding(1) var<storage, read> terms: array<vec2f>; // layout in gated-delta-terms.wgsl
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(5) var<storage, read> sequences: array<Sequence>;
@group(0) @binding(6) var<storage, read_write> states: array<vec4f>; // [slots][heads][key dims][value quads]

fn key_head_of(head: u32) -> u32 {
  return select(head / (args.heads / args.key_heads), head % args.key_heads, args.tiled == 1u);
}
