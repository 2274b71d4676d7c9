// A residual that y takes the place of.
fn residual_at(i: u32) -> vec4f {
  return y[i];
}
