// y = negative + guidance · (positive − negative). x holds the negative prediction, then the positive one.
const WORKGROUP = 64u;

struct Args {
  quads: u32,    // quads of one prediction
  scalar: u32,   // index of the guidance scale among the step's scalars
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> scalars: array<f32>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let guidance = scalars[args.scalar];
  for (var i = id.x; i < args.quads; i += groups.x * WORKGROUP) {
    let negative = x[i];
    let positive = x[args.quads + i];
    y[i] = negative + guidance * (positive - negative);
  }
}
