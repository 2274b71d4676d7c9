// Weights of GGUF's IQ3_S: d · (2 · scale + 1) · sign · value of a point.
#import "lib/codes.fours.wgsl"
#import "lib/scales.odd.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 1u; // in matmul-few.wgsl
const GRID_WORDS = 512u;
const UPPER_BITS = 1u;
const PLANES = 3u;
const SCALE_BITS = 4u;
const UNIT = 1.0;
