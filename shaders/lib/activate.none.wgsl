// No activation.
fn activate(v: Activated) -> Activated {
  return v;
}
