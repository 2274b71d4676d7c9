// Codes are signed bytes: the largest magnitude of a token's head is 127.
#import "lib/write-codes.wgsl"
const WORD_DIMS = 4u;
const TURNS = true; // keys and queries are turned, which spreads what few channels have over all

// Factor of a head whose value of the largest magnitude is `largest`, and what values are multiplied by to become codes.
fn scale_of(largest: f32) -> f32 {
  return stored_scale(abs(largest) / 127.0);
}

fn rate_of(scale: f32) -> f32 {
  return select(0.0, 1.0 / scale, scale != 0.0);
}

// The word of the dimensions that begin with `near`.
fn word_of(near: vec4f, far: vec4f) -> u32 {
  let codes = bitcast<vec4u>(vec4i(clamp(round(near), vec4f(-127.0), vec4f(127.0)))) & vec4u(255u);
  return codes.x | (codes.y << 8u) | (codes.z << 16u) | (codes.w << 24u);
}
