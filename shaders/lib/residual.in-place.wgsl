// A residual that y overwrites.
fn residual_at(i: u32) -> vec4f {
  return y[i];
}
