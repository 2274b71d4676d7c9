// Two floats of E4M3 without sign in the lower bytes of a word, one for the first 16 k's and one for the others, and a factor in bf16 in its upper
// half: scales[group of 32 columns][k / 32][lane of 8][4 columns]. A float's bits shifted left by 7 are those of an f16 that is 1 / 256 of it, and
// the digits of lib/codes.e2m1.wgsl are doubled.
alias Scale = array<vec4f, 2>;

@group(0) @binding(2) var<storage, read> scales: array<vec4u>;

fn load_scale(block: u32, lane: u32) -> Scale {
  let words = scales[block * 8u + lane];
  let factor = bitcast<vec4f>(words & vec4u(0xffff0000u)) * 128.0;
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
