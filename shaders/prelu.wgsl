// Parametric ReLU: negative values are multiplied by the slope of their channel.
const WORKGROUP = 64u;

struct Args {
  quads: u32,     // quads of columns per row
  all_quads: u32, // quads of the strip's rows
}

@group(0) @binding(0) var<storage, read> slope: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> x: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  for (var i = id.x; i < args.all_quads; i += groups.x * WORKGROUP) {
    let v = x[i];
    x[i] = select(slope[i % args.quads] * v, v, v > vec4f(0.0));
  }
}
