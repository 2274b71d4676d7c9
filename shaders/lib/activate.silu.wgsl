// v · σ(v); clamped, because exp overflows f32 far below zero.
fn activate(v: Activated) -> Activated {
  return v / (1.0 + exp(min(-v, Activated(80.0))));
}
