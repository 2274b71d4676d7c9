// Blocks of IQ2_XS, as a file holds them, into the packed layout of weights/iq2_xs.wgsl.
#import "sources/iq2_xs.wgsl"
#import "lib/put-codes.eights.wgsl"
#import "lib/put-scales.planes.wgsl"
const PLANES = 3u;
