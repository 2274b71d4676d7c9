// Rows of x are normalized as they are multiplied: their elements by the norm's weight when they are loaded, their sums by
// 1 / sqrt(mean(x²) + eps) at the end, so that the squares are added while weights arrive. The order of the squares' sum depends on SLICES.
@group(0) @binding(6) var<storage, read> gain: array<vec4f>;

const HELD_SUMS = 64u; // sums of eight lanes that workgroup memory holds at once, beside the squares in 10 KiB

var<workgroup> shared_squares: array<f32, 8u * HELD_SUMS>;

fn x_quad(row0: u32, quad: u32) -> vec4f {
  return x[row0 + quad] * gain[quad];
}

// Each of the eight lanes that read the same block of x adds one of its quads.
fn add_squares(squares: ptr<function, array<f32, ROWS>>, x0: ptr<function, array<u32, ROWS>>, quad: u32) {
  for (var r = 0u; r < ROWS; r++) {
    let xs = x[(*x0)[r] + quad];
    (*squares)[r] += dot(xs, xs);
  }
}

fn share_squares(at: u32, square: f32) {
  shared_squares[at] = square;
}

fn shared_square(at: u32) -> f32 {
  return shared_squares[at];
}

// The sum of the row of eight lanes, which begin at `lane0`.
fn normed(sum: vec4f, square: f32, lane0: u32, lane: u32) -> vec4f {
  workgroupBarrier();
  if (lane0 < 8u * ROWS) {
    shared_squares[lane0 + lane] = square;
  }
  workgroupBarrier();
  var total = 0.0;
  for (var i = 0u; i < 8u; i++) {
    total += shared_squares[lane0 % (8u * ROWS) + i];
  }
  return sum * inverseSqrt(total / f32(args.columns) + args.eps);
}
