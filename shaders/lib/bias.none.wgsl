// No bias.
fn biased(acc: vec4f, quad: u32) -> vec4f {
  return acc;
}
