// Numbers of points of four values and their signs: codes[group of 32 columns][k / 32][word of 3][lane of 8][4 columns]. Words 0 and 1 hold the low
// 8 bits of four numbers each, word 2 the signs. UPPER_BITS further bits of each number stand beside the scales (lib/nibble-planes.wgsl).
#import "lib/grid.fours.wgsl"
#import "lib/digits.grid.wgsl"
#import "lib/signed-bytes.wgsl"
const STEP = 16u;
alias Pack = vec4u;

struct High {
  signs: vec4u,
  upper: vec4u,
}

@group(0) @binding(1) var<storage, read> codes: array<vec4u>;

fn load_high(block: u32, lane: u32) -> High {
  return High(codes[block * 24u + 16u + lane], upper_at(block, lane));
}

fn load_pack(block: u32, step: u32, lane: u32) -> Pack {
  return codes[block * 24u + step * 8u + lane];
}

fn index_of(pack: Pack, high: High, quad: u32) -> vec4u {
  let upper = (high.upper >> vec4u(UPPER_BITS * quad)) & vec4u((1u << UPPER_BITS) - 1u);
  return ((pack >> vec4u(8u * (quad % 4u))) & vec4u(255u)) | (upper << vec4u(8u));
}

fn grid_digits(bytes: vec4u, pack: Pack, high: High, quad: u32) -> array<vec4f, 4> {
  return byte_digits(signed_bytes(bytes, (high.signs >> vec4u(4u * quad)) & vec4u(15u)));
}
