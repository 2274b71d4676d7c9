// Weights as bf16 pairs: codes[group of 32 columns][k / 2][lane of 8][4 columns]; k in the low half. bf16 is the upper
// half of an f32, so widening is a shift.
#import "lib/whole-terms.wgsl"
const STEP = 4u;
const STEPS_AT_ONCE = 1u; // in matmul-few.wgsl: what ran fastest on llvmpipe
alias Pack = array<vec4u, 2>;
alias Block = f32;

@group(0) @binding(1) var<storage, read> codes: array<vec4u>;

fn load_block(block: u32, lane: u32) -> Block {
  return 1.0;
}

// Steps of STEP k's, counted within their block.
fn load_pack(block: u32, step: u32, lane: u32) -> Pack {
  let i = (block * 8u + step) * 16u + lane;
  return Pack(codes[i], codes[i + 8u]);
}

// Four columns at each of the k's 4 · quad to 4 · quad + 3 of a block.
fn unpack(pack: Pack, scale: Block, quad: u32) -> array<vec4f, 4> {
  var w: array<vec4f, 4>;
  for (var i = 0u; i < 2u; i++) {
    w[2u * i] = bitcast<vec4f>(pack[i] << vec4u(16u));
    w[2u * i + 1u] = bitcast<vec4f>(pack[i] & vec4u(0xffff0000u));
  }
  return w;
}
