// y[item, row, column · taps + tap] = x[item, row · step + tap - before, column], zero where an item has no such row.
const WORKGROUP = 64u;

struct Args {
  columns: u32,
  taps: u32,
  step: u32,
  before: u32,
  x_rows: u32,   // rows of an item
  y_rows: u32,
  x_stride: u32, // values from one row to the next
  y_stride: u32,
  x_first: u32,  // first row of x that is bound
  y_first: u32,  // first row of y that is bound
  first: u32,    // first row of y that is computed, and the number of them
  rows: u32,
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  for (var i = id.x; i < args.rows * args.y_stride; i += groups.x * WORKGROUP) {
    let row = args.first + i / args.y_stride;
    let place = i % args.y_stride;
    // Below zero before an item's first row, which wraps to more than an item has.
    let source = row % args.y_rows * args.step + place % args.taps - args.before;
    var value = 0.0;
    if (place < args.columns * args.taps && source < args.x_rows) {
      let bound = row / args.y_rows * args.x_rows + source - args.x_first;
      value = x[bound * args.x_stride + place / args.taps];
    }
    y[(args.first - args.y_first) * args.y_stride + i] = value;
  }
}
