// x = x + factor · y, element by element; the factor is a scalar of the step.
const WORKGROUP = 64u;

struct Args {
  all_quads: u32, // quads of the strip's rows
  index: u32,     // of the factor among the scalars
}

@group(0) @binding(0) var<storage, read> y: array<vec4f>;
@group(0) @binding(1) var<storage, read> scalars: array<f32>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> x: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let factor = vec4f(scalars[args.index]);
  for (var i = id.x; i < args.all_quads; i += groups.x * WORKGROUP) {
    x[i] = fma(factor, y[i], x[i]);
  }
}
