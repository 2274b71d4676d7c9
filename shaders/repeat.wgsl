// y[i] = x[i mod quads] · scalar: repeats one tensor for every item of a batch.
const WORKGROUP = 64u;

struct Args {
  quads: u32,     // quads of x
  all_quads: u32, // quads of y
  scalar: u32,    // index among the step's scalars
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> scalars: array<f32>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let scale = scalars[args.scalar];
  for (var i = id.x; i < args.all_quads; i += groups.x * WORKGROUP) {
    y[i] = x[i % args.quads] * scale;
  }
}
