// Scores of attention without a cap.
fn capped(scores: vec4f) -> vec4f {
  return scores;
}
