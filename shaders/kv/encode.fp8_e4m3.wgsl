// Codes are floats of four exponent bits and three mantissa bits: the largest magnitude of a token's head is 448. Factors are 256 times as large,
// since kv/digits.fp8_e4m3.wgsl divides codes by that. Values below the least normal code become that or zero.
#import "lib/write-codes.wgsl"
const WORD_DIMS = 4u;
const TURNS = false; // floats keep small values beside large ones

// Factor of a head whose value of the largest magnitude is `largest`, and what values are multiplied by to become codes.
fn scale_of(largest: f32) -> f32 {
  return stored_scale(abs(largest) * (256.0 / 448.0));
}

fn rate_of(scale: f32) -> f32 {
  return select(0.0, 256.0 / scale, scale != 0.0);
}

// The word of the dimensions that begin with `near`; see the reader for the order of bytes.
fn word_of(near: vec4f, far: vec4f) -> u32 {
  let sizes = min(abs(near), vec4f(448.0));
  let bits = bitcast<vec4u>(max(sizes, vec4f(0.015625)));
  let rounded = (bits + vec4u(0x7ffffu) + ((bits >> vec4u(20u)) & vec4u(1u))) >> vec4u(20u);
  let magnitudes = select(vec4u(0u), rounded - vec4u(960u), sizes >= vec4f(0.0078125));
  let codes = magnitudes | ((bitcast<vec4u>(near) >> vec4u(24u)) & vec4u(0x80u));
  return (codes.x << 8u) | (codes.y << 24u) | codes.z | (codes.w << 16u);
}
