// Blocks of MXFP4, as a file holds them, into the packed layout of weights/mxfp4.wgsl.
#import "sources/mxfp4.wgsl"
#import "lib/put-codes.4.wgsl"
#import "lib/put-scales.exponent.wgsl"
