// Blocks of IQ4_NL, as a file holds them, into the packed layout of weights/iq4_nl.wgsl.
#import "sources/iq4_nl.wgsl"
#import "lib/put-codes.4.wgsl"
#import "lib/put-scales.half.wgsl"
