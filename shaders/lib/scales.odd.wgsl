// A scale for 32 k's: see lib/nibble-planes.wgsl.
#import "lib/nibble-planes.wgsl"
alias Scale = vec4f;
const SCALE_PLANES = 1u;
const FACTOR_QUADS = 8u; // see lib/decode.wgsl

fn load_scale(block: u32, lane: u32) -> Scale {
  return major_at(block, lane) * minor_at(block, lane, 0u);
}

fn scale_at(scale: Scale, quad: u32) -> vec4f {
  return scale;
}
