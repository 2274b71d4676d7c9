// Blocks of TQ2_0, as a file holds them, into the packed layout of weights/tq2_0.wgsl.
#import "sources/tq2_0.wgsl"
#import "lib/put-codes.2.wgsl"
#import "lib/put-scales.halves.wgsl"
const SCALED_BLOCKS = 8u;
