// Scales of two levels: for 256 k's the f16 of a column, [lane of 8][4 columns], then for each 32 of them two signed bytes, one for the first
// 16 k's and one for the others, [k / 32][lane of 8][4 columns]. w = d · scale · code.
alias Scale = array<vec4f, 2>;

@group(0) @binding(2) var<storage, read> scales: array<vec2u>;

fn load_scale(block: u32, lane: u32) -> Scale {
  let first = block / 8u * 72u;
  let major = scales[first + lane];
  let d = vec4f(unpack2x16float(major.x), unpack2x16float(major.y));
  let pairs = scales[first + 8u + block % 8u * 8u + lane];
  let minor = vec4u(pairs.x, pairs.x >> 16u, pairs.y, pairs.y >> 16u);
  return Scale(
    d * vec4f(bitcast<vec4i>(minor << vec4u(24u)) >> vec4u(24u)),
    d * vec4f(bitcast<vec4i>(minor << vec4u(16u)) >> vec4u(24u)),
  );
}

fn scale_at(scale: Scale, quad: u32) -> vec4f {
  return select(scale[0], scale[1], quad >= 4u);
}

fn scaled(digit: vec4f, scale: vec4f) -> vec4f {
  return digit * scale;
}

const FACTOR_QUADS = 4u; // see lib/decode.wgsl

fn term(digit: vec4f, scale: vec4f) -> vec4f {
  return digit;
}

fn factor(scale: vec4f) -> vec4f {
  return scale;
}

const SCALED_QUADS = 4u; // see lib/integer-dots.wgsl

fn add_scaled(c: vec4f, dot: vec4f, sum: f32, scale: vec4f) -> vec4f {
  return fma(dot, scale, c);
}
