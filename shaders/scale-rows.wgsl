// y[row] = x[row] · weight[row].
const WORKGROUP = 64u;

struct Args {
  quads: u32,     // quads of a row
  all_quads: u32,
  first_row: u32, // first row of this strip
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> weights: array<f32>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  for (var i = id.x; i < args.all_quads; i += groups.x * WORKGROUP) {
    y[i] = x[i] * weights[args.first_row + i / args.quads];
  }
}
