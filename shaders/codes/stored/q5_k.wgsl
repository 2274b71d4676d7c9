// Blocks of Q5_K, as a file holds them, into the packed layout of weights/q5_k.wgsl.
#import "sources/q5_k.wgsl"
#import "lib/put-codes.5.wgsl"
#import "lib/put-scales.minima.wgsl"
