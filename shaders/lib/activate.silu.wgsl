// v · σ(v); far below zero exp would leave f32.
fn activate(v: Activated) -> Activated {
  return v / (1.0 + exp(min(-v, Activated(80.0))));
}
