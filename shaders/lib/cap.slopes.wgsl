// Scores of attention minus a slope of the head for each token between the query at position `at` and a key, to both sides (ALiBi of encoders).
// Slopes are 2^(-cap · (h + 1) / n) for the heads up to a power of two n, and those of twice as many, every second one, for the others.
fn scored(scores: vec4f, head: u32, at: u32, tokens: vec4u) -> vec4f {
  let first = 1u << firstLeadingBit(args.heads);
  let step = select(f32(head + 1u), f32(head - first) + 0.5, head >= first);
  let distance = max(tokens, vec4u(at)) - min(tokens, vec4u(at));
  return scores - exp2(-args.cap * step / f32(first)) * vec4f(distance);
}
