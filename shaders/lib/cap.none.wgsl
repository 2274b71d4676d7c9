// Scores of attention without a cap; see lib/cap.distance.wgsl.
fn scored(scores: vec4f, head: u32, at: u32, tokens: vec4u) -> vec4f {
  return scores;
}
