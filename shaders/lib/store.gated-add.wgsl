// y += gate of the row's item · (acc + bias)
#import "lib/bias.$BIAS.wgsl"

@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(6) var<storage, read> gate: array<vec4f>;

fn store(row: u32, quad: u32, acc: vec4f) {
  let i = row * args.y_quads + quad;
  let item = (args.first_row + row) / args.item_rows;
  let value = biased(acc, quad);
  // Behind the last column stands a zero, and no gate.
  let gated = select(vec4f(0.0), gate[item * args.gate_quads + args.gate_first + quad] * value, value != vec4f(0.0));
  y[i] = y[i] + gated;
}
