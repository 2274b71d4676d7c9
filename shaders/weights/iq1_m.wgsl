// Weights of GGUF's IQ1_M: d · (2 · scale + 1) · (value of a point ± 1 / 8).
#import "lib/codes.ternary.wgsl"
#import "lib/scales.odd-sixteens.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 1u; // in matmul-few.wgsl
const GRID_WORDS = 1024u;
const UPPER_BITS = 4u;
const PLANES = 6u;
const SCALE_BITS = 3u;
const UNIT = 1.0;

// The fourth of the upper bits of a number tells the sign of the eighths of its point.
fn less_at(block: u32, lane: u32) -> vec4u {
  return vec4u(0u);
}

fn is_less(high: High, quad: u32) -> vec4u {
  return (high.upper >> vec4u(4u * (quad / 2u) + 3u)) & vec4u(1u);
}
