// y = activation(GATE_FACTOR · gate) · PRODUCT_FACTOR · up for gate and up columns, or up and gate columns, that alternate in pairs. For matmuls whose store cannot apply it directly.
#import "lib/activate.$ACTIVATION.wgsl"
alias Activated = vec2f;

const WORKGROUP = 32u;
const GATE_FIRST = true;
const GATE_FACTOR = 1.0;
const PRODUCT_FACTOR = 1.0;

struct Args {
  x_quads: u32,
  y_pairs: u32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> y: array<vec2f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= args.y_pairs) {
    return;
  }
  let pair = x[id.y * args.x_quads + min(id.x, args.x_quads - 1u)];
  let gate = GATE_FACTOR * select(pair.zw, pair.xy, GATE_FIRST);
  let up = select(pair.xy, pair.zw, GATE_FIRST);
  y[id.y * args.y_pairs + id.x] = select(vec2f(0.0), PRODUCT_FACTOR * activate(gate) * up, id.x < args.x_quads);
}
