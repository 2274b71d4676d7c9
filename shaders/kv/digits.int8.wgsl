// Codes are signed bytes.
const WORD_DIMS = 4u;

// Four dimensions of four tokens, by dimension.
fn columns_of(words: vec4u, quad: u32) -> array<vec4f, 4> {
  return array<vec4f, 4>(
    vec4f(bitcast<vec4i>(words << vec4u(24u)) >> vec4u(24u)),
    vec4f(bitcast<vec4i>(words << vec4u(16u)) >> vec4u(24u)),
    vec4f(bitcast<vec4i>(words << vec4u(8u)) >> vec4u(24u)),
    vec4f(bitcast<vec4i>(words) >> vec4u(24u)),
  );
}

// Four dimensions of one token.
fn digits_of(word: u32, quad: u32) -> vec4f {
  return vec4f(bitcast<vec4i>(vec4u(word) << vec4u(24u, 16u, 8u, 0u)) >> vec4u(24u));
}
