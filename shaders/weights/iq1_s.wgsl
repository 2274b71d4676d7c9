// Weights of GGUF's IQ1_S: d · (2 · scale + 1) · (value of a point ± 1 / 8).
#import "lib/codes.ternary.wgsl"
#import "lib/scales.odd.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 1u; // in matmul-few.wgsl
const GRID_WORDS = 1024u;
const UPPER_BITS = 3u;
const PLANES = 4u;
const SCALE_BITS = 3u;
const UNIT = 1.0;

// The fourth bit beside a scale tells the sign of all eighths of a block.
fn less_at(block: u32, lane: u32) -> vec4u {
  return plane_at(block, lane, 0u) >> vec4u(3u);
}

fn is_less(high: High, quad: u32) -> vec4u {
  return high.less;
}
