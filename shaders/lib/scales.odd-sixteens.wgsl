// A scale for the first 16 k's of a block and one for the others: see lib/nibble-planes.wgsl.
#import "lib/nibble-planes.wgsl"
alias Scale = array<vec4f, 2>;
const SCALE_PLANES = 2u;
const FACTOR_QUADS = 4u; // see lib/decode.wgsl

fn load_scale(block: u32, lane: u32) -> Scale {
  let major = major_at(block, lane);
  return Scale(major * minor_at(block, lane, 0u), major * minor_at(block, lane, 1u));
}

fn scale_at(scale: Scale, quad: u32) -> vec4f {
  return select(scale[0], scale[1], quad >= 4u);
}
