// Adds no bias.
fn biased(v: vec4f, quad: u32) -> vec4f {
  return v;
}
