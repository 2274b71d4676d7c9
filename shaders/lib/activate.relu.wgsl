// v where it is positive.
fn activate(v: Activated) -> Activated {
  return max(v, Activated(0.0));
}
