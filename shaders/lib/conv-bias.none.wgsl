// No bias.
fn first_sum(quad: u32) -> vec4f {
  return vec4f(0.0);
}
