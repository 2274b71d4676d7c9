// A scale and an offset of 16 bits for 32 · SCALED_BLOCKS k's, the offset in the upper half: scales[group of 32 columns][k / (32 · SCALED_BLOCKS)]
// [lane of 8][4 columns]. w = scale · code + offset. lib/halves.* reads the halves.
struct Scale {
  factor: vec4f,
  offset: vec4f,
}

@group(0) @binding(2) var<storage, read> scales: array<vec4u>;

fn load_scale(block: u32, lane: u32) -> Scale {
  let pairs = scales[block / SCALED_BLOCKS * 8u + lane];
  return Scale(lower_halves(pairs), upper_halves(pairs));
}

fn scale_at(scale: Scale, quad: u32) -> Scale {
  return scale;
}

fn scaled(digit: vec4f, scale: Scale) -> vec4f {
  return fma(digit, scale.factor, scale.offset); // the product is exact
}

const FACTOR_QUADS = 0u; // see lib/decode.wgsl

fn term(digit: vec4f, scale: Scale) -> vec4f {
  return scaled(digit, scale);
}

fn factor(scale: Scale) -> vec4f {
  return vec4f(1.0);
}

const SCALED_QUADS = 8u; // see lib/integer-dots.wgsl

fn add_scaled(c: vec4f, dot: vec4f, sum: f32, scale: Scale) -> vec4f {
  return fma(dot, scale.factor, fma(vec4f(sum), scale.offset, c));
}
