// y = activation(x clamped to the range that two tensors of one value each hold). Ranges that training did not narrow are infinite, which
// shaders need not compute with.
#import "lib/activate.$ACTIVATION.wgsl"
alias Activated = vec4f;

const WORKGROUP = 64u;
const LARGEST = 3.4e38;

struct Args {
  quads: u32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(3) var<storage, read> low: array<f32>;
@group(0) @binding(4) var<storage, read> high: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) workgroups: vec3u) {
  let least = vec4f(max(low[0], -LARGEST));
  let most = vec4f(min(high[0], LARGEST));
  for (var i = id.x; i < args.quads; i += workgroups.x * WORKGROUP) {
    y[i] = activate(min(max(x[i], least), most));
  }
}
