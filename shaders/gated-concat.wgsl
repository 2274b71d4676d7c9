// Columns of a, then silu(gate) · value from the columns of x that begin at `first`, row by row; an invocation per quad of y.
#import "lib/activate.silu.wgsl"
alias Activated = vec4f;

const WORKGROUP = 64u;

struct Args {
  a_columns: u32, // quads of columns that are read of a
  b_columns: u32, // quads of columns of the gate, and of the value
  a_quads: u32,   // quads from one row of a to the next
  x_quads: u32,
  first: u32,     // quad of x at which the gate begins
  y_quads: u32,
  rows: u32,
}

@group(0) @binding(0) var<storage, read> a: array<vec4f>;
@group(0) @binding(1) var<storage, read> x: array<vec4f>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) workgroups: vec3u) {
  let i = id.y * workgroups.x * WORKGROUP + id.x;
  let row = i / args.y_quads;
  let quad = i % args.y_quads;
  if (row >= args.rows) {
    return;
  }
  var v = vec4f(0.0);
  if (quad < args.a_columns) {
    v = a[row * args.a_quads + quad];
  } else if (quad < args.a_columns + args.b_columns) {
    let at = row * args.x_quads + args.first + quad - args.a_columns;
    v = activate(x[at]) * x[at + args.b_columns];
  }
  y[i] = v;
}
