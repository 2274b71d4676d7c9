// y = (x - centre) · factor, with a centre and a factor for each column.
const WORKGROUP = 64u;

struct Args {
  quads: u32,     // quads of columns of a row
  all_quads: u32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(3) var<storage, read> centre: array<vec4f>;
@group(0) @binding(4) var<storage, read> factor: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) workgroups: vec3u) {
  for (var i = id.x; i < args.all_quads; i += workgroups.x * WORKGROUP) {
    let column = i % args.quads;
    y[i] = (x[i] - centre[column]) * factor[column];
  }
}
