// max(v, 0)
fn activate(v: Activated) -> Activated {
  return max(v, Activated(0.0));
}
