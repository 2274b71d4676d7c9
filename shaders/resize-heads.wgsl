// Copies heads into heads of another width: dimensions beyond the narrower width are left out, or zeros. An invocation per column and row.
const WORKGROUP = 64u;

struct Args {
  heads: u32,
  x_dims: u32,    // dimensions of a head of x
  y_dims: u32,    // and of y
  x_first: u32,   // first column of the heads of x
  x_stride: u32,  // columns from one row of x to the next
  y_stride: u32,
  x_row: u32,     // row of the binding of x that is copied to row `y_row` of the binding of y
  y_row: u32,
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let column = id.x;
  if (column >= args.y_stride) {
    return;
  }
  let head = column / args.y_dims;
  let d = column % args.y_dims;
  var value = 0.0;
  if (head < args.heads && d < args.x_dims) {
    value = x[(args.x_row + id.y) * args.x_stride + args.x_first + head * args.x_dims + d];
  }
  y[(args.y_row + id.y) * args.y_stride + column] = value;
}
