// Blocks of Q4_0, as a file holds them, into the packed layout of weights/q4_0.wgsl.
#import "sources/q4_0.wgsl"
#import "lib/put-codes.4.wgsl"
#import "lib/put-scales.half.wgsl"
