// Weights of GGUF's IQ2_XXS: d · (scale + 1 / 2) / 4 · sign · value of a point.
#import "lib/codes.eights.wgsl"
#import "lib/scales.odd.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 1u; // in matmul-few.wgsl
const GRID_WORDS = 128u;
const UPPER_BITS = 0u;
const PLANES = 1u;
const SCALE_BITS = 4u;
const UNIT = 0.125;
