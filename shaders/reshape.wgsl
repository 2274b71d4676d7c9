// Values in another shape, in their order, with zeros in the columns that pad a row.
const WORKGROUP = 64u;

struct Args {
  values: u32,    // values of y, including padding
  columns: u32,
  stride: u32,    // values from one row of y to the next
  x_columns: u32,
  x_stride: u32,
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  for (var i = id.x; i < args.values; i += groups.x * WORKGROUP) {
    let column = i % args.stride;
    let at = i / args.stride * args.columns + column;
    var value = 0.0;
    if (column < args.columns) {
      value = x[at / args.x_columns * args.x_stride + at % args.x_columns];
    }
    y[i] = value;
  }
}
