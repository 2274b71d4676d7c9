// Multiplies the addend by tanh(gate) of the row's item.
#import "lib/activate.tanh.wgsl"
alias Activated = vec4f;

@group(0) @binding(4) var<storage, read> gate: array<vec4f>;

fn gated(v: vec4f, row: u32, quad: u32) -> vec4f {
  let item = row / args.item_rows;
  return activate(gate[item * args.gate_quads + args.gate_first + quad]) * v;
}
