// Rows of x that are multiplied as they lie in memory, for lib/norm.none.wgsl and lib/norm.scaled.wgsl.
const HELD_SUMS = 128u; // sums of eight lanes that workgroup memory holds at once, in 16 KiB

fn x_quad(row0: u32, block0: u32, quad: u32) -> vec4f {
  return x[row0 + block0 + quad];
}

fn add_squares(squares: ptr<function, array<f32, ROWS>>, x0: ptr<function, array<u32, ROWS>>, quad: u32) {
}

fn share_squares(at: u32, square: f32) {
}

fn shared_square(at: u32) -> f32 {
  return 0.0;
}
