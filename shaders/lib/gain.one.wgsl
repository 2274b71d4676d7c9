// Heads are normalized by an RMSNorm without weights.
const NORMED = true;

fn gain(d: u32) -> f32 {
  return 1.0;
}
