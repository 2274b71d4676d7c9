// Numbers of points of eight values and their signs: codes[group of 32 columns][k / 32][word of 2][lane of 8][4 columns]. A word serves 16 k's: the low
// 8 bits of two numbers, then 16 signs. UPPER_BITS further bits of each number stand beside the scales (lib/nibble-planes.wgsl).
#import "lib/grid.eights.wgsl"
#import "lib/digits.grid.wgsl"
#import "lib/signed-bytes.wgsl"
const STEP = 16u;
alias Pack = vec4u;
alias High = vec4u;

@group(0) @binding(1) var<storage, read> codes: array<vec4u>;

fn load_high(block: u32, lane: u32) -> High {
  return upper_at(block, lane);
}

fn load_pack(block: u32, step: u32, lane: u32) -> Pack {
  return codes[block * 16u + step * 8u + lane];
}

fn index_of(pack: Pack, high: High, quad: u32) -> vec4u {
  let upper = (high >> vec4u(UPPER_BITS * (quad / 2u))) & vec4u((1u << UPPER_BITS) - 1u);
  return ((pack >> vec4u(4u * (quad & 2u))) & vec4u(255u)) | (upper << vec4u(8u));
}

// Codes 0, 1 and 2 are 8, 25 and 43.
fn grid_digits(bytes: vec4u, pack: Pack, high: High, quad: u32) -> array<vec4f, 4> {
  let magnitudes = bytes * vec4u(17u) + vec4u(0x08080808u) + ((bytes >> vec4u(1u)) & vec4u(0x01010101u));
  return byte_digits(signed_bytes(magnitudes, (pack >> vec4u(16u + 4u * (quad % 4u))) & vec4u(15u)));
}
