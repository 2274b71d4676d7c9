// Rows were multiplied by the shares before the experts.
fn share_of(row: u32, j: u32) -> f32 {
  return 1.0;
}
