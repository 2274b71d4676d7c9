// Blocks of NVFP4, as a file holds them, into the packed layout of weights/nvfp4.wgsl.
#import "sources/nvfp4.wgsl"
#import "lib/put-codes.4.wgsl"
#import "lib/put-scales.e4m3-pair.wgsl"
