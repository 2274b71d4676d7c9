// Keeps keys and decays of the rows of an unfinished chunk in the slot, after gated-delta.wgsl has read those of the chunk before. An
// invocation per quad and sequence.
#import "lib/batch.wgsl"

const CHUNK = 8u;

struct Args {
  key_first: u32,    // quads of a row of qkv before the keys
  keys: u32,         // quads of the keys
  values: u32,       // quads of what the heads wrote
  heads: u32,
  qkv_quads: u32,
  gate_stride: u32,
  gate_run: u32,     // gates alternate: so many β, then as many decays
  state_stride: u32, // quads of a slot
  kept_first: u32,   // quads of a slot before the rows
  kept_quads: u32,   // quads of such a row
}

@group(0) @binding(0) var<storage, read> qkv: array<vec4f>;
@group(0) @binding(1) var<storage, read> gates: array<f32>;
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(5) var<storage, read> sequences: array<Sequence>;
@group(0) @binding(6) var<storage, read_write> states: array<vec4f>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let quad = id.x;
  if (quad >= args.keys + (args.heads + 3u) / 4u) {
    return;
  }
  let sequence = sequences[id.y];
  let open = (sequence.cached + sequence.rows) % CHUNK;
  for (var i = open - min(open, sequence.rows); i < open; i++) {
    let row = sequence.first_row + sequence.rows + i - open;
    let at = sequence.slot * args.state_stride + args.kept_first + i * args.kept_quads + quad;
    if (quad < args.keys) {
      states[at] = qkv[row * args.qkv_quads + args.key_first + quad];
    } else {
      var value = vec4f(0.0);
      for (var c = 0u; c < 4u; c++) {
        let head = 4u * (quad - args.keys) + c;
        if (head < args.heads) {
          let gate = head / args.gate_run * 2u * args.gate_run + head % args.gate_run;
          value[c] = gates[row * args.gate_stride + gate + args.gate_run];
        }
      }
      states[at + args.values] = value;
    }
  }
}
