// Codes are signed, of four bits, in the order of the dimensions: the value of the largest magnitude of a token's head is −8.
#import "lib/write-codes.wgsl"
const WORD_DIMS = 8u;
const TURNS = true; // keys and queries are turned, which spreads what few channels have over all

// Factor of a head whose value of the largest magnitude is `largest`, and what values are multiplied by to become codes.
fn scale_of(largest: f32) -> f32 {
  return stored_scale(largest / -8.0);
}

fn rate_of(scale: f32) -> f32 {
  return select(0.0, 1.0 / scale, scale != 0.0);
}

// The word of the dimensions that begin with `near` and go on with `far`.
fn word_of(near: vec4f, far: vec4f) -> u32 {
  return half_word(near) | (half_word(far) << 16u);
}

fn half_word(four: vec4f) -> u32 {
  let codes = bitcast<vec4u>(vec4i(clamp(round(four), vec4f(-8.0), vec4f(7.0)))) & vec4u(15u);
  return codes.x | (codes.y << 4u) | (codes.z << 8u) | (codes.w << 12u);
}
