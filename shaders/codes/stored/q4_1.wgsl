// Blocks of Q4_1, as a file holds them, into the packed layout of weights/q4_1.wgsl.
#import "sources/q4_1.wgsl"
#import "lib/put-codes.4.wgsl"
#import "lib/put-scales.pair.wgsl"
