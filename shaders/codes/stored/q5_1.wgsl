// Blocks of Q5_1, as a file holds them, into the packed layout of weights/q5_1.wgsl.
#import "sources/q5_1.wgsl"
#import "lib/put-codes.5.wgsl"
#import "lib/put-scales.pair.wgsl"
