// Arguments and operands of the kernels that apply the gated delta rule to states. A slot has the states of the heads after the last
// whole chunk, then a row for each token since: its keys, what each head wrote (u), its decays before softplus.
const CHUNK = 8u;
const TERMS = 2u + CHUNK + CHUNK / 2u;

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
  kept_first: u32,   // quads of a slot before the rows
  kept_quads: u32,   // quads of such a row
}

@group(0) @binding(0) var<storage, read> qkv: array<vec4f>; // queries of all key heads, keys of all, values
@group(0) @binding(1) var<storage, read> terms: array<vec2f>; // layout in gated-delta-terms.wgsl
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(5) var<storage, read> sequences: array<Sequence>;
@group(0) @binding(6) var<storage, read_write> states: array<vec4f>; // [slots]: [heads][key dims][value quads], [CHUNK - 1][kept quads]

fn key_head_of(head: u32) -> u32 {
  return select(head / (args.heads / args.key_heads), head % args.key_heads, args.tiled == 1u);
}

// Keys of row i of a chunk, of which the first `kept` rows are in the slot and row `kept` is `first`.
fn key_quad(slot: u32, first: u32, kept: u32, i: u32, quad: u32) -> vec4f {
  if (i < kept) {
    return states[slot + args.kept_first + i * args.kept_quads + quad];
  }
  return qkv[(first + i - kept) * args.qkv_quads + args.key_heads * args.key_quads + quad];
}

// Place of what a head wrote at row i of a chunk, one of those in the slot.
fn kept_value(slot: u32, i: u32, column: u32) -> u32 {
  return slot + args.kept_first + i * args.kept_quads + args.key_heads * args.key_quads + column;
}
