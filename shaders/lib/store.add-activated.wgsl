// y = activation(y + acc + bias)
#import "lib/bias.$BIAS.wgsl"
#import "lib/activate.$ACTIVATION.wgsl"
alias Activated = vec4f;

@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;

fn store(row: u32, quad: u32, acc: vec4f) {
  let i = row * args.y_quads + quad;
  y[i] = activate(y[i] + biased(acc, row, quad));
}
