// Codes are floats of four exponent bits and three mantissa bits, divided by 256. A code in the upper byte of a half word is an f16 when its
// magnitude is shifted right by one: bytes 1, 3, 0 and 2 of a word hold its four dimensions.
const WORD_DIMS = 4u;

// Four dimensions of four tokens, by dimension.
fn columns_of(words: vec4u, quad: u32) -> array<vec4f, 4> {
  let near = upper_codes(words);
  let far = upper_codes(words << vec4u(8u));
  return array<vec4f, 4>(near[0], near[1], far[0], far[1]);
}

// Two dimensions of four tokens from the upper bytes of half words.
fn upper_codes(words: vec4u) -> array<vec4f, 2> {
  let halves = ((words >> vec4u(1u)) & vec4u(0x3f803f80u)) | (words & vec4u(0x80008000u));
  let a = unpack2x16float(halves.x);
  let b = unpack2x16float(halves.y);
  let c = unpack2x16float(halves.z);
  let e = unpack2x16float(halves.w);
  return array<vec4f, 2>(vec4f(a.x, b.x, c.x, e.x), vec4f(a.y, b.y, c.y, e.y));
}

// Four dimensions of one token.
fn digits_of(word: u32, quad: u32) -> vec4f {
  let words = vec2u(word, word << 8u);
  let halves = ((words >> vec2u(1u)) & vec2u(0x3f803f80u)) | (words & vec2u(0x80008000u));
  return vec4f(unpack2x16float(halves.x), unpack2x16float(halves.y));
}
