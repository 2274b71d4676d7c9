// Adds the change that DoRA makes to weights: the changed weights of a row, or of an input, get the length of its magnitude.

const BY_INPUT = false; // whether magnitudes belong to inputs

struct Args {
  rows: u32,
  columns: u32,         // those of all taps
  taps: u32,            // consecutive columns of one input
  first_magnitude: u32, // of the first row
  across: u32,          // invocations in a row of workgroups
}

@group(0) @binding(0) var<storage, read> changed: array<f32>;
@group(0) @binding(1) var<storage, read> original: array<f32>;
@group(0) @binding(2) var<storage, read> magnitudes: array<f32>;
@group(0) @binding(3) var<storage, read> squares: array<f32>; // the squared length of each row of y, or of each input
@group(0) @binding(4) var<storage, read_write> y: array<f32>;
@group(0) @binding(5) var<uniform> args: Args;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.y * args.across + id.x;
  if (i >= args.rows * args.columns) {
    return;
  }
  let part = select(i / args.columns, i % args.columns / args.taps, BY_INPUT);
  let square = squares[part];
  let factor = select(0.0, magnitudes[select(args.first_magnitude + part, part, BY_INPUT)] / sqrt(square), square > 0.0);
  y[i] += factor * changed[i] - original[i];
}
