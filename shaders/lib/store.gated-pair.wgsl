// y = activation(GATE_FACTOR · (gate + bias)) · PRODUCT_FACTOR · (value + bias); a lane's four columns are two of the gate and the two of the value that belong to
// them.
#import "lib/bias.$BIAS.wgsl"
#import "lib/activate.$ACTIVATION.wgsl"
alias Activated = vec2f;

const GATE_FIRST = true;
const GATE_FACTOR = 1.0;
const PRODUCT_FACTOR = 1.0;

@group(0) @binding(4) var<storage, read_write> y: array<vec2f>;

fn store(row: u32, quad: u32, acc: vec4f) {
  let pair = biased(acc, row, quad);
  let gate = GATE_FACTOR * select(pair.zw, pair.xy, GATE_FIRST);
  y[row * args.y_quads + quad] = PRODUCT_FACTOR * activate(gate) * select(pair.xy, pair.zw, GATE_FIRST);
}
