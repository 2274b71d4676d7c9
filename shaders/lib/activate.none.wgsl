// As it is.
fn activate(v: Activated) -> Activated {
  return v;
}
