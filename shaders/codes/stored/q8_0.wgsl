// Blocks of Q8_0, as a file holds them, into the packed layout of weights/q8_0.wgsl.
#import "sources/q8_0.wgsl"
#import "lib/put-codes.8.wgsl"
#import "lib/put-scales.half.wgsl"
