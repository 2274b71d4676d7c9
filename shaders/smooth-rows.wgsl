// y = (x + the second row of smooth) · its first row.
const WORKGROUP = 64u;

struct Args {
  quads: u32,     // quads of a row
  all_quads: u32,
  shifts: u32,    // quads of smooth before its second row
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> smooth_rows: array<vec4f>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  for (var i = id.x; i < args.all_quads; i += groups.x * WORKGROUP) {
    let quad = i % args.quads;
    y[i] = (x[i] + smooth_rows[args.shifts + quad]) * smooth_rows[quad];
  }
}
