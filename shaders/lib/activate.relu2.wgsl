// max(v, 0)², the square of a rectified value.
fn activate(v: Activated) -> Activated {
  let positive = max(v, Activated(0.0));
  return positive * positive;
}
