// Codes are signed, of four bits, in the order of the dimensions.
const WORD_DIMS = 8u;

// Four dimensions of four tokens, by dimension.
fn columns_of(words: vec4u, quad: u32) -> array<vec4f, 4> {
  let upper = words << vec4u(16u - quad % 2u * 16u);
  return array<vec4f, 4>(
    vec4f(bitcast<vec4i>(upper << vec4u(12u)) >> vec4u(28u)),
    vec4f(bitcast<vec4i>(upper << vec4u(8u)) >> vec4u(28u)),
    vec4f(bitcast<vec4i>(upper << vec4u(4u)) >> vec4u(28u)),
    vec4f(bitcast<vec4i>(upper) >> vec4u(28u)),
  );
}

// Four dimensions of one token.
fn digits_of(word: u32, quad: u32) -> vec4f {
  let upper = word << (16u - quad % 2u * 16u);
  return vec4f(bitcast<vec4i>(vec4u(upper) << vec4u(12u, 8u, 4u, 0u)) >> vec4u(28u));
}
