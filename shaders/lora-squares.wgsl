// Squared lengths of the rows of a matrix of f32, or of the weights of each input, which are added to those of earlier rows. One workgroup
// sums the values of one row or input.

const BY_INPUT = false; // whether lengths are those of inputs

struct Args {
  rows: u32,
  columns: u32, // those of all taps
  taps: u32,    // consecutive columns of one input
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> squares: array<f32>;
@group(0) @binding(2) var<uniform> args: Args;

var<workgroup> sums: array<f32, 64>;

@compute @workgroup_size(64)
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) workgroups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let part = workgroup.y * workgroups.x + workgroup.x;
  let is_there = part < select(args.rows, args.columns / args.taps, BY_INPUT);
  var sum = 0.0;
  if (is_there) {
    for (var i = lane; i < select(args.columns, args.rows * args.taps, BY_INPUT); i += 64u) {
      let of_input = i / args.taps * args.columns + part * args.taps + i % args.taps;
      let value = x[select(part * args.columns + i, of_input, BY_INPUT)];
      sum += value * value;
    }
  }
  sums[lane] = sum;
  workgroupBarrier();
  for (var half = 32u; half > 0u; half /= 2u) {
    if (lane < half) {
      sums[lane] += sums[lane + half];
    }
    workgroupBarrier();
  }
  if (is_there && lane == 0u) {
    squares[part] = sums[0] + select(0.0, squares[part], BY_INPUT);
  }
}
