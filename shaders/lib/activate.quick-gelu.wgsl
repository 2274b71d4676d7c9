// v · σ(1.702 v), OpenAI's own gelu in CLIP.
fn activate(v: Activated) -> Activated {
  return v / (1.0 + exp(min(-1.702 * v, Activated(80.0))));
}
