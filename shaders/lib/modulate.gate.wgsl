// The norm times tanh(gate) of the row's item; `scale` is the gate.
#import "lib/activate.tanh.wgsl"
alias Activated = vec4f;

@group(0) @binding(6) var<storage, read> scale: array<vec4f>;

fn modulate(v: vec4f, row: u32, quad: u32) -> vec4f {
  let item = row / args.item_rows;
  return v * activate(scale[item * args.scale_quads + args.scale_first + quad]);
}
