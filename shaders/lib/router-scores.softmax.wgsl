// Scores of a router: the softmax over its logits.
fn score_experts(row0: u32, local: u32) {
  var best = Best(-3.4e38, 0u);
  for (var i = local; i < args.experts; i += WORKGROUP) {
    best.value = max(best.value, logits[row0 + i]);
  }
  let largest = best_of(best.value, local, local).value;
  var sum = 0.0;
  for (var i = local; i < args.experts; i += WORKGROUP) {
    scores[i] = exp(logits[row0 + i] - largest);
    sum += scores[i];
  }
  let total = sums_of(sum, 0u, local).value;
  for (var i = local; i < args.experts; i += WORKGROUP) {
    scores[i] /= total;
  }
}
