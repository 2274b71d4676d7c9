// The identity: no activation.
fn activate(v: Activated) -> Activated {
  return v;
}
