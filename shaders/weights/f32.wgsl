// Weights as f32: codes[group of 32 columns][k][lane of 8][4 columns].
#import "lib/whole-terms.wgsl"
const STEP = 4u;
const STEPS_AT_ONCE = 1u; // in matmul-few.wgsl: what ran fastest on llvmpipe
alias Pack = array<vec4f, 4>;
alias Block = f32;

@group(0) @binding(1) var<storage, read> codes: array<vec4f>;

fn load_block(block: u32, lane: u32) -> Block {
  return 1.0;
}

// Steps of STEP k's, counted within their block.
fn load_pack(block: u32, step: u32, lane: u32) -> Pack {
  let i = (block * 8u + step) * 32u + lane;
  return Pack(codes[i], codes[i + 8u], codes[i + 16u], codes[i + 24u]);
}

// Four columns at each of the k's 4 · quad to 4 · quad + 3 of a block.
fn unpack(pack: Pack, scale: Block, quad: u32) -> array<vec4f, 4> {
  return pack;
}
