// Blocks of Q2_K, as a file holds them, into the packed layout of weights/q2_k.wgsl.
#import "sources/q2_k.wgsl"
#import "lib/put-codes.2.wgsl"
#import "lib/put-scales.minima.wgsl"
