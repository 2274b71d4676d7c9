// Shares of experts stay as they are.
fn route_gain(expert: u32) -> f32 {
  return 1.0;
}
