// Weights as f16 pairs: codes[group of 32 columns][k / 2][lane of 8][4 columns]; k in the low half. Needs no shader-f16.
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
    let a = unpack2x16float(pack[i].x);
    let b = unpack2x16float(pack[i].y);
    let c = unpack2x16float(pack[i].z);
    let d = unpack2x16float(pack[i].w);
    w[2u * i] = vec4f(a.x, b.x, c.x, d.x);
    w[2u * i + 1u] = vec4f(a.y, b.y, c.y, d.y);
  }
  return w;
}
