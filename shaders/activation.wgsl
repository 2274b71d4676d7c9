// y = activation(x), element by element.
#import "lib/activate.$ACTIVATION.wgsl"
alias Activated = vec4f;

const WORKGROUP = 64u;

struct Args {
  quads: u32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) workgroups: vec3u) {
  for (var i = id.x; i < args.quads; i += workgroups.x * WORKGROUP) {
    y[i] = activate(x[i]);
  }
}
