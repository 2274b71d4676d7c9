// Codes of 8 bits that are floats of four exponent bits and three mantissa bits (E4M3 without infinities), divided by 256: codes[group of
// 32 columns][k / 4][lane of 8][4 columns]. A code in the upper byte of a half word is an f16 when its magnitude is shifted right by one:
// bytes 1, 3, 0 and 2 of a word hold its four k's.
#import "lib/digits.alone.wgsl"
const STEP = 4u;
alias Pack = vec4u;
alias High = bool; // none

@group(0) @binding(1) var<storage, read> codes: array<vec4u>;

fn load_high(block: u32, lane: u32) -> High {
  return false;
}

fn load_pack(block: u32, step: u32, lane: u32) -> Pack {
  return codes[(block * 8u + step) * 8u + lane];
}

// Two k's of four columns from the upper bytes of half words.
fn two_digits(codes: vec4u) -> array<vec4f, 2> {
  let halves = ((codes >> vec4u(1u)) & vec4u(0x3f803f80u)) | (codes & vec4u(0x80008000u));
  let a = unpack2x16float(halves.x);
  let b = unpack2x16float(halves.y);
  let c = unpack2x16float(halves.z);
  let d = unpack2x16float(halves.w);
  return array<vec4f, 2>(vec4f(a.x, b.x, c.x, d.x), vec4f(a.y, b.y, c.y, d.y));
}

fn digits_of(pack: Pack, high: High, quad: u32) -> array<vec4f, 4> {
  let first = two_digits(pack);
  let second = two_digits(pack << vec4u(8u));
  return array<vec4f, 4>(first[0], first[1], second[0], second[1]);
}
