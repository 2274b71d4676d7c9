// Adds the rows of a table, one after the other, to every row; where the table has several rows for the columns of x, these are repeated.
const WORKGROUP = 64u;

struct Args {
  columns: u32,      // columns of a row of the table
  x_columns: u32,
  y_columns: u32,    // columns of all rows of the table
  x_stride: u32,     // values from one row to the next
  table_stride: u32,
  y_stride: u32,
  values: u32,       // values of y with the columns that pad its rows
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> table: array<f32>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) workgroups: vec3u) {
  for (var i = id.x; i < args.values; i += workgroups.x * WORKGROUP) {
    let column = i % args.y_stride;
    var value = 0.0;
    if (column < args.y_columns) {
      value = x[i / args.y_stride * args.x_stride + column % args.x_columns];
      value += table[column / args.columns * args.table_stride + column % args.columns];
    }
    y[i] = value;
  }
}
