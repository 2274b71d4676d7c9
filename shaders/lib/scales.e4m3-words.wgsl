// Floats of E4M3 without sign, four a word for 64 k's, and a factor in f32 for 32 · SCALED_BLOCKS k's: for 32 columns the words, [k / 64][lane of 8][4
// columns], then the factors, [lane of 8][4 columns]. A float's bits shifted left by 7 are those of an f16 that is 1 / 256 of it, and the digits of
// lib/codes.e2m1.wgsl are doubled.
alias Scale = array<vec4f, 2>;

@group(0) @binding(2) var<storage, read> scales: array<vec4u>;

fn load_scale(block: u32, lane: u32) -> Scale {
  let within = block % SCALED_BLOCKS;
  let first = block / SCALED_BLOCKS * (4u * SCALED_BLOCKS + 8u) + lane;
  let words = scales[first + within / 2u * 8u] >> vec4u(within % 2u * 16u);
  let factor = bitcast<vec4f>(scales[first + 4u * SCALED_BLOCKS]) * 128.0;
  let halves = ((words & vec4u(0x7fu)) << vec4u(7u)) | ((words & vec4u(0x7f00u)) << vec4u(15u));
  let a = unpack2x16float(halves.x);
  let b = unpack2x16float(halves.y);
  let c = unpack2x16float(halves.z);
  let d = unpack2x16float(halves.w);
  return Scale(factor * vec4f(a.x, b.x, c.x, d.x), factor * vec4f(a.y, b.y, c.y, d.y));
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
