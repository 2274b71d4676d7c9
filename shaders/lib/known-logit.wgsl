// A logit as log probabilities see it: NaN is masked, infinities are bounded (the kernel declares `logits`).
fn logit_at(i: u32) -> f32 {
  let value = logits[i];
  let bits = bitcast<u32>(value);
  return select(clamp(value, MASKED, -NEVER), MASKED, (bits & 0x7fffffffu) > 0x7f800000u);
}
