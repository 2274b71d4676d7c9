// Two floats of E4M3 without sign, one for the first 16 k's and one for the others: scales[group of 32 columns][k / 32][lane of 8][4 columns]. A float's
// bits shifted left by 7 are those of an f16 that is 1 / 256 of it, and the digits of lib/codes.e2m1.wgsl are doubled.
alias Scale = array<vec4f, 2>;

@group(0) @binding(2) var<storage, read> scales: array<vec2u>;

// The floats of one column, 128 times, from bits 0 to 15.
fn pair_of(bits: u32) -> vec2f {
  return unpack2x16float(((bits & 0x7fu) << 7u) | ((bits & 0x7f00u) << 15u)) * 128.0;
}

fn load_scale(block: u32, lane: u32) -> Scale {
  let words = scales[block * 8u + lane];
  let a = pair_of(words.x);
  let b = pair_of(words.x >> 16u);
  let c = pair_of(words.y);
  let d = pair_of(words.y >> 16u);
  return Scale(vec4f(a.x, b.x, c.x, d.x), vec4f(a.y, b.y, c.y, d.y));
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
