// Codes of 2 bits, less OFFSET: codes[group of 32 columns][k / 32][word of 2][lane of 8][4 columns]. Byte j of a word belongs to the j-th
// k of each quad: words 0 and 1 hold all of it, four quads a byte.
#import "lib/digits.alone.wgsl"
#import "lib/byte-digits.wgsl"
const STEP = 16u;
alias Pack = vec4u;
alias High = bool; // none

@group(0) @binding(1) var<storage, read> codes: array<vec4u>;

fn load_high(block: u32, lane: u32) -> High {
  return false;
}

fn load_pack(block: u32, step: u32, lane: u32) -> Pack {
  return codes[block * 16u + step * 8u + lane];
}

const CODE_BIAS = -i32(OFFSET); // see lib/integer-dots.wgsl

fn words_of(pack: Pack, high: High, quad: u32) -> vec4u {
  return (pack >> vec4u(2u * (quad % 4u))) & vec4u(0x03030303u);
}

fn digits_of(pack: Pack, high: High, quad: u32) -> array<vec4f, 4> {
  return byte_digits(words_of(pack, high, quad));
}
