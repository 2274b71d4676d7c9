// Weights of GGUF's IQ4_NL: scale · table[code].
#import "lib/codes.table.wgsl"
#import "lib/scales.half.wgsl"
#import "lib/table.iq4.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 1u; // in matmul-few.wgsl: ran fastest on llvmpipe
