// log(1 + exp(x)); far below zero by the series of log(1 + t), because 1 + t loses t.
fn softplus(x: f32) -> f32 {
  let t = exp(-abs(x));
  return max(x, 0.0) + select(log(1.0 + t), t * (1.0 - t * (0.5 - t / 3.0)), t < 0.01);
}
