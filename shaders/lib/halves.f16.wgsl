// Two numbers in f16 to a word.
fn lower_halves(words: vec4u) -> vec4f {
  return vec4f(unpack2x16float(words.x).x, unpack2x16float(words.y).x, unpack2x16float(words.z).x, unpack2x16float(words.w).x);
}

fn upper_halves(words: vec4u) -> vec4f {
  return vec4f(unpack2x16float(words.x).y, unpack2x16float(words.y).y, unpack2x16float(words.z).y, unpack2x16float(words.w).y);
}
