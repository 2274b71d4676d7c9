// Codes of 3 bits, less OFFSET: codes[group of 32 columns][k / 32][word of 3][lane of 8][4 columns]. Byte j of a word belongs to the j-th
// k of each quad: words 0 and 1 hold the low two bits, four quads a byte; word 2 the third, eight quads a byte.
#import "lib/digits.alone.wgsl"
#import "lib/byte-digits.wgsl"
const STEP = 16u;
alias Pack = vec4u;
alias High = vec4u;

@group(0) @binding(1) var<storage, read> codes: array<vec4u>;

fn load_high(block: u32, lane: u32) -> High {
  return codes[block * 24u + 16u + lane];
}

fn load_pack(block: u32, step: u32, lane: u32) -> Pack {
  return codes[block * 24u + step * 8u + lane];
}

const CODE_BIAS = -i32(OFFSET); // see lib/integer-dots.wgsl

fn words_of(pack: Pack, high: High, quad: u32) -> vec4u {
  let low = (pack >> vec4u(2u * (quad % 4u))) & vec4u(0x03030303u);
  return low | (((high >> vec4u(quad)) & vec4u(0x01010101u)) << vec4u(2u));
}

fn digits_of(pack: Pack, high: High, quad: u32) -> array<vec4f, 4> {
  return byte_digits(words_of(pack, high, quad));
}
