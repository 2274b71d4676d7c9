// Dimensions behind those of a head are zeros.
fn behind(row: u32, head: u32, d: u32) -> vec2f {
  return vec2f(0.0);
}
