// y += acc + bias
#import "lib/bias.$BIAS.wgsl"

@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;

fn store(row: u32, quad: u32, acc: vec4f) {
  let i = row * args.y_quads + quad;
  y[i] = y[i] + biased(acc, row, quad);
}
