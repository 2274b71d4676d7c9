// y[i] = x[i] for rows of equal length; or one row of x, repeated.
const WORKGROUP = 64u;

struct Args {
  quads: u32,       // quads of columns per row
  rows: u32,
  x_first: u32,     // rows before the first in the binding
  x_step: u32,      // rows of x from one row of y to the next: 1, or 0 to repeat a row
  y_first: u32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  for (var i = id.x; i < args.rows * args.quads; i += groups.x * WORKGROUP) {
    let row = i / args.quads;
    let x_row = args.x_first + row * args.x_step;
    y[(args.y_first + row) * args.quads + i % args.quads] = x[x_row * args.quads + i % args.quads];
  }
}
