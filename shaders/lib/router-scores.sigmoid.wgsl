// Scores of a router: the sigmoid of each logit.
fn score_experts(row0: u32, local: u32) {
  for (var i = local; i < args.experts; i += WORKGROUP) {
    scores[i] = 1.0 / (1.0 + exp(-logits[row0 + i]));
  }
}
