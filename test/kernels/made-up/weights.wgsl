// Weights as 4-bit codes with a scale and a minimum for 32 k's: w = minimum + scale · code. Codes lie as in int4.wgsl; the scales of a
// block are followed by its minima: scales[group of 32 columns][k / 32][scale, minimum][lane of 8][4 columns].
#import "lib/whole-terms.wgsl"
const STEP = 8u;
const STEPS_AT_ONCE = 1u;
alias Pack = vec4u;
alias Block = array<vec4f, 2>;

@group(0) @binding(1) var<storage, read> codes: array<vec4u>;
@group(0) @binding(2) var<storage, read> scales: array<vec4f>;

fn load_block(block: u32, lane: u32) -> Block {
  return Block(scales[block * 16u + lane], scales[block * 16u + 8u + lane]);
}

fn load_pack(block: u32, step: u32, lane: u32) -> Pack {
  return codes[(block * 4u + step) * 8u + lane];
}

fn unpack(pack: Pack, scale: Block, quad: u32) -> array<vec4f, 4> {
  var w: array<vec4f, 4>;
  for (var i = 0u; i < 4u; i++) {
    w[i] = fma(vec4f((pack >> vec4u(16u * (quad % 2u) + 4u * i)) & vec4u(15u)), scale[0], scale[1]);
  }
  return w;
}
