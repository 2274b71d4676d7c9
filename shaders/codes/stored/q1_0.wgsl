// Blocks of Q1_0, as a file holds them, into the packed layout of weights/q1_0.wgsl.
#import "sources/q1_0.wgsl"
#import "lib/put-codes.1.wgsl"
#import "lib/put-scales.halves.wgsl"
const SCALED_BLOCKS = 4u;
