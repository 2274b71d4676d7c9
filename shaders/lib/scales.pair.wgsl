// A scale and a minimum in f16 for 32 k's, the minimum in the upper half: scales[group of 32 columns][k / 32][lane of 8][4 columns].
// w = scale · code + minimum.
struct Scale {
  factor: vec4f,
  minimum: vec4f,
}

@group(0) @binding(2) var<storage, read> scales: array<vec4u>;

fn load_scale(block: u32, lane: u32) -> Scale {
  let pairs = scales[block * 8u + lane];
  let a = unpack2x16float(pairs.x);
  let b = unpack2x16float(pairs.y);
  let c = unpack2x16float(pairs.z);
  let d = unpack2x16float(pairs.w);
  return Scale(vec4f(a.x, b.x, c.x, d.x), vec4f(a.y, b.y, c.y, d.y));
}

fn scale_at(scale: Scale, quad: u32) -> Scale {
  return scale;
}

fn scaled(digit: vec4f, scale: Scale) -> vec4f {
  return fma(digit, scale.factor, scale.minimum); // the product is exact
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
  return fma(dot, scale.factor, fma(vec4f(sum), scale.minimum, c));
}
