// No bias.
fn biased(acc: vec4f, row: u32, quad: u32) -> vec4f {
  return acc;
}
