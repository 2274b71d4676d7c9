// What a request's own function is in place of.
fn process(token: u32, logit: f32, position: u32, count: u32) -> f32 {
  return logit;
}
