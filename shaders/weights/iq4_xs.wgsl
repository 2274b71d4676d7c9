// Weights of GGUF's IQ4_XS: d · scale · table[code].
#import "lib/codes.table.wgsl"
#import "lib/scales.signed-bytes.wgsl"
#import "lib/table.iq4.wgsl"
#import "lib/decode.wgsl"
const STEPS_AT_ONCE = 1u; // in matmul-few.wgsl: ran fastest on llvmpipe
