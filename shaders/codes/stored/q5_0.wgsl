// Blocks of Q5_0, as a file holds them, into the packed layout of weights/q5_0.wgsl.
#import "sources/q5_0.wgsl"
#import "lib/put-codes.5.wgsl"
#import "lib/put-scales.half.wgsl"
