// Blocks of IQ2_S, as a file holds them, into the packed layout of weights/iq2_s.wgsl.
#import "sources/iq2_s.wgsl"
#import "lib/put-codes.eights.wgsl"
#import "lib/put-scales.planes.wgsl"
const PLANES = 4u;
