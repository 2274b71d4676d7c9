// Unsigned codes of 8 bits: codes[group of 32 columns][k / 4][lane of 8][4 columns], four codes a word, k in the lowest byte.
#import "lib/digits.alone.wgsl"
#import "lib/byte-digits.wgsl"
const STEP = 4u;
const OFFSET = 0.0;
alias Pack = vec4u;
alias High = bool; // none

@group(0) @binding(1) var<storage, read> codes: array<vec4u>;

fn load_high(block: u32, lane: u32) -> High {
  return false;
}

fn load_pack(block: u32, step: u32, lane: u32) -> Pack {
  return codes[(block * 8u + step) * 8u + lane];
}

fn digits_of(pack: Pack, high: High, quad: u32) -> array<vec4f, 4> {
  return byte_digits(pack);
}

const CODE_BIAS = 128; // see lib/integer-dots.wgsl

fn words_of(pack: Pack, high: High, quad: u32) -> vec4u {
  return pack ^ vec4u(0x80808080u);
}
