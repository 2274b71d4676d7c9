// Scores of attention as they are.
fn capped(scores: vec4f) -> vec4f {
  return scores;
}
