// A gated unit and a convolution of each column along the rows, which sees no later row: y = Σ weight · a · σ(b) over the last rows, with a the
// first half of the columns and b the second one; or with biases, and SiLU in place of σ.
#import "lib/glu-unit.$UNIT.wgsl"

const WORKGROUP = 64u;

struct Args {
  columns: u32,   // of y
  rows: u32,      // rows of an item
  taps: u32,
  x_stride: u32,
  y_stride: u32,
  weight_stride: u32,
  values: u32,    // rows of all items · y_stride
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> weight: array<f32>; // [columns, taps]
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) workgroups: vec3u) {
  for (var i = id.x; i < args.values; i += workgroups.x * WORKGROUP) {
    let row = i / args.y_stride;
    let column = i % args.y_stride;
    let seen = min(row % args.rows + 1u, args.taps);
    if (column >= args.columns) {
      y[i] = 0.0;
      continue;
    }
    var sum = first_sum(column);
    for (var tap = args.taps - seen; tap < args.taps; tap++) {
      let at = (row + tap + 1u - args.taps) * args.x_stride + column;
      sum += weight[column * args.weight_stride + tap] * unit(x[at], x[at + args.columns], column);
    }
    y[i] = sum;
  }
}
