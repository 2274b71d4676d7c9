// Heads are not normalized.
const NORMED = false;

fn gain(d: u32) -> f32 {
  return 1.0;
}
