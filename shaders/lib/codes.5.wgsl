// Codes of 5 bits, less OFFSET: codes[group of 32 columns][k / 32][word of 5][lane of 8][4 columns]. Byte j of a word belongs to the j-th
// k of each quad: words 0 to 3 hold the low four bits, two quads a byte; word 4 the fifth, eight quads a byte.
#import "lib/digits.alone.wgsl"
#import "lib/byte-digits.wgsl"
const STEP = 8u;
alias Pack = vec4u;
alias High = vec4u;

@group(0) @binding(1) var<storage, read> codes: array<vec4u>;

fn load_high(block: u32, lane: u32) -> High {
  return codes[block * 40u + 32u + lane];
}

fn load_pack(block: u32, step: u32, lane: u32) -> Pack {
  return codes[block * 40u + step * 8u + lane];
}

const CODE_BIAS = -i32(OFFSET); // see lib/integer-dots.wgsl

fn words_of(pack: Pack, high: High, quad: u32) -> vec4u {
  let low = (pack >> vec4u(4u * (quad % 2u))) & vec4u(0x0f0f0f0fu);
  return low | (((high >> vec4u(quad)) & vec4u(0x01010101u)) << vec4u(4u));
}

fn digits_of(pack: Pack, high: High, quad: u32) -> array<vec4f, 4> {
  return byte_digits(words_of(pack, high, quad));
}
