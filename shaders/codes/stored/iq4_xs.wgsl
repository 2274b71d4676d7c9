// Blocks of IQ4_XS, as a file holds them, into the packed layout of weights/iq4_xs.wgsl.
#import "sources/iq4_xs.wgsl"
#import "lib/put-codes.4.wgsl"
#import "lib/put-scales.signed-bytes.wgsl"
