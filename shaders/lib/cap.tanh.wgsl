// Scores of attention limited to ±cap (Gemma 2's soft cap). Beyond ±10 tanh is 1 in f32, and some drivers' tanh overflows.
fn scored(scores: vec4f, head: u32, at: u32, tokens: vec4u) -> vec4f {
  return args.cap * tanh(clamp(scores / args.cap, vec4f(-10.0), vec4f(10.0)));
}
