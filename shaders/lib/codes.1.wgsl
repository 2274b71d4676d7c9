// Codes of one bit, 1 for 1 and 0 for -1: codes[group of 32 columns][k / 32][lane of 8][4 columns], 32 k's a word from the lowest bit.
#import "lib/digits.alone.wgsl"
const STEP = 16u;
alias Pack = bool; // none
alias High = vec4u;

@group(0) @binding(1) var<storage, read> codes: array<vec4u>;

fn load_high(block: u32, lane: u32) -> High {
  return ~codes[block * 8u + lane];
}

fn load_pack(block: u32, step: u32, lane: u32) -> Pack {
  return false;
}

fn signed_one(high: High, k: u32) -> vec4f {
  return bitcast<vec4f>(((high << vec4u(31u - k)) & vec4u(0x80000000u)) | vec4u(0x3f800000u));
}

fn digits_of(pack: Pack, high: High, quad: u32) -> array<vec4f, 4> {
  let k = 4u * quad;
  return array<vec4f, 4>(signed_one(high, k), signed_one(high, k + 1u), signed_one(high, k + 2u), signed_one(high, k + 3u));
}
