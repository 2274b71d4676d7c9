// Adds the Kronecker product of two matrices to rows of a matrix of f32. A first matrix of one value adds the second one, scaled.

struct Args {
  rows: u32,           // of y
  columns: u32,        // of y, those of all taps
  first_row: u32,      // row of the product that belongs to y's first
  left_columns: u32,   // of `left`
  right_rows: u32,     // of `right`
  right_columns: u32,  // of `right`, those of all taps
  across: u32,         // invocations in a row of workgroups
  scale: f32,
}

@group(0) @binding(0) var<storage, read> left: array<f32>;
@group(0) @binding(1) var<storage, read> right: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@group(0) @binding(3) var<uniform> args: Args;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.y * args.across + id.x;
  if (i >= args.rows * args.columns) {
    return;
  }
  let row = args.first_row + i / args.columns;
  let column = i % args.columns;
  let l = left[row / args.right_rows * args.left_columns + column / args.right_columns];
  let r = right[row % args.right_rows * args.right_columns + column % args.right_columns];
  y[i] += args.scale * l * r;
}
