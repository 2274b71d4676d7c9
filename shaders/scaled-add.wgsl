// x = factor · x + residual, element by element.
const WORKGROUP = 64u;

struct Args {
  all_quads: u32, // quads of the strip's rows
  factor: f32,
}

@group(0) @binding(0) var<storage, read> residual: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> x: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  for (var i = id.x; i < args.all_quads; i += groups.x * WORKGROUP) {
    x[i] = args.factor * x[i] + residual[i];
  }
}
