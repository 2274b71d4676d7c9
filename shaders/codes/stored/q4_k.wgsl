// Blocks of Q4_K, as a file holds them, into the packed layout of weights/q4_k.wgsl.
#import "sources/q4_k.wgsl"
#import "lib/put-codes.4.wgsl"
#import "lib/put-scales.minima.wgsl"
