// Scales and minima of two levels: for 256 k's the two f16 of a column, [lane of 8][4 columns], then for each 32 of them a byte of scale
// and a byte of minimum, [k / 32][lane of 8][4 columns]. w = d · scale · code - dmin · minimum.
struct Scale {
  factor: vec4f,
  minimum: vec4f,
}

@group(0) @binding(2) var<storage, read> scales: array<vec2u>;

fn load_scale(block: u32, lane: u32) -> Scale {
  let first = block / 8u * 80u;
  let major0 = scales[first + 2u * lane];
  let major1 = scales[first + 2u * lane + 1u];
  let a = unpack2x16float(major0.x);
  let b = unpack2x16float(major0.y);
  let c = unpack2x16float(major1.x);
  let d = unpack2x16float(major1.y);
  let pairs = scales[first + 16u + block % 8u * 8u + lane];
  let minor = vec4u(pairs.x, pairs.x >> 16u, pairs.y, pairs.y >> 16u);
  return Scale(
    vec4f(a.x, b.x, c.x, d.x) * vec4f(minor & vec4u(0xffu)),
    vec4f(a.y, b.y, c.y, d.y) * vec4f((minor >> vec4u(8u)) & vec4u(0xffu)),
  );
}

fn scale_at(scale: Scale, quad: u32) -> Scale {
  return scale;
}

fn scaled(digit: vec4f, scale: Scale) -> vec4f {
  return fma(digit, scale.factor, -scale.minimum); // the product is exact
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
  return fma(dot, scale.factor, fma(vec4f(-sum), scale.minimum, c));
}
