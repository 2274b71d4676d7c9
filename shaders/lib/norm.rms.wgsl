// Rows of x are normalized as they are multiplied: their elements by the norm's weight when they are loaded, their sums by
// 1 / sqrt(mean(x²) + eps) at the end, so that the squares are added while weights arrive. Bits are those of normed.wgsl and
// norm.scaled.wgsl.
#import "lib/squares.wgsl"

@group(0) @binding(6) var<storage, read> gain: array<vec4f>;

const HELD_SUMS = 64u; // sums of eight lanes that workgroup memory holds at once, beside the squares in 10 KiB

var<workgroup> shared_squares: array<f32, 8u * HELD_SUMS>;

fn x_quad(row0: u32, block0: u32, quad: u32) -> vec4f {
  return x[row0 + block0 + quad] * gain[block0 + quad];
}

// Each of the eight lanes that read the same block of x adds one of its quads.
fn add_squares(squares: ptr<function, array<f32, ROWS>>, x0: ptr<function, array<u32, ROWS>>, quad: u32) {
  for (var r = 0u; r < ROWS; r++) {
    (*squares)[r] = with_squares((*squares)[r], x[(*x0)[r] + quad]);
  }
}

fn share_squares(at: u32, square: f32) {
  shared_squares[at] = square;
}

fn shared_square(at: u32) -> f32 {
  return shared_squares[at];
}

// `square`: the sum of the slices of a lane of row r of the tile
fn normed(sum: vec4f, square: f32, row: u32, r: u32, lane: u32) -> vec4f {
  workgroupBarrier();
  if (r < ROWS) {
    shared_squares[r * 8u + lane] = square;
  }
  workgroupBarrier();
  var total = 0.0;
  for (var i = 0u; i < 8u; i++) {
    total += shared_squares[r % ROWS * 8u + i];
  }
  return sum * rate_of(total);
}
