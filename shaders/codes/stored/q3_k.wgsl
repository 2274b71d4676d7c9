// Blocks of Q3_K, as a file holds them, into the packed layout of weights/q3_k.wgsl.
#import "sources/q3_k.wgsl"
#import "lib/put-codes.3.wgsl"
#import "lib/put-scales.signed.wgsl"
