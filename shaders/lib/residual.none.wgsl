// No residual.
fn residual_at(i: u32) -> vec4f {
  return vec4f(0.0);
}
