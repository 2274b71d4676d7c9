// Codes of 6 bits, less OFFSET: codes[group of 32 columns][k / 32][word of 6][lane of 8][4 columns]. Byte j of a word belongs to the j-th
// k of each quad: words 0 to 3 hold the low four bits, two quads a byte; words 4 and 5 the upper two, four quads a byte.
#import "lib/digits.alone.wgsl"
#import "lib/byte-digits.wgsl"
const STEP = 8u;
alias Pack = vec4u;
alias High = array<vec4u, 2>;

@group(0) @binding(1) var<storage, read> codes: array<vec4u>;

fn load_high(block: u32, lane: u32) -> High {
  return High(codes[block * 48u + 32u + lane], codes[block * 48u + 40u + lane]);
}

fn load_pack(block: u32, step: u32, lane: u32) -> Pack {
  return codes[block * 48u + step * 8u + lane];
}

const CODE_BIAS = -i32(OFFSET); // see lib/integer-dots.wgsl

fn words_of(pack: Pack, high: High, quad: u32) -> vec4u {
  let low = (pack >> vec4u(4u * (quad % 2u))) & vec4u(0x0f0f0f0fu);
  let upper = select(high[0], high[1], quad >= 4u) >> vec4u(2u * (quad % 4u));
  return low | ((upper & vec4u(0x03030303u)) << vec4u(4u));
}

fn digits_of(pack: Pack, high: High, quad: u32) -> array<vec4f, 4> {
  return byte_digits(words_of(pack, high, quad));
}
