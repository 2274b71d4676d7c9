// Numbers of points of eight values -1, 0 and 1, an eighth more or less: codes[group of 32 columns][k / 32][lane of 8][4 columns], the low 8 bits of four
// numbers a word. Three further bits of each, UPPER_BITS from one to the next, stand beside the scales (lib/nibble-planes.wgsl).
#import "lib/grid.eights.wgsl"
#import "lib/digits.grid.wgsl"
#import "lib/byte-digits.wgsl"
const STEP = 16u;
const OFFSET = 1.0;
alias Pack = bool; // none

struct High {
  low: vec4u,
  upper: vec4u,
  less: vec4u, // see is_less
}

@group(0) @binding(1) var<storage, read> codes: array<vec4u>;

fn load_high(block: u32, lane: u32) -> High {
  return High(codes[block * 8u + lane], upper_at(block, lane), less_at(block, lane));
}

fn load_pack(block: u32, step: u32, lane: u32) -> Pack {
  return false;
}

fn index_of(pack: Pack, high: High, quad: u32) -> vec4u {
  let eight = quad / 2u;
  return ((high.low >> vec4u(8u * eight)) & vec4u(255u)) | (((high.upper >> vec4u(UPPER_BITS * eight)) & vec4u(7u)) << vec4u(8u));
}

fn grid_digits(bytes: vec4u, pack: Pack, high: High, quad: u32) -> array<vec4f, 4> {
  let digits = byte_digits(bytes);
  let eighth = bitcast<vec4f>((is_less(high, quad) << vec4u(31u)) | vec4u(0x3e000000u)); // 1 / 8
  return array<vec4f, 4>(digits[0] + eighth, digits[1] + eighth, digits[2] + eighth, digits[3] + eighth);
}
