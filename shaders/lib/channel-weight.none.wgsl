// Multiplies by no weight.
fn weighted(v: vec4f, quad: u32) -> vec4f {
  return v;
}
