// Two numbers in bf16 to a word.
fn lower_halves(words: vec4u) -> vec4f {
  return bitcast<vec4f>(words << vec4u(16u));
}

fn upper_halves(words: vec4u) -> vec4f {
  return bitcast<vec4f>(words & vec4u(0xffff0000u));
}
