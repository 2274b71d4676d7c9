// Blocks of Q6_K, as a file holds them, into the packed layout of weights/q6_k.wgsl.
#import "sources/q6_k.wgsl"
#import "lib/put-codes.6.wgsl"
#import "lib/put-scales.signed.wgsl"
