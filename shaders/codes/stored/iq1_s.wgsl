// Blocks of IQ1_S, as a file holds them, into the packed layout of weights/iq1_s.wgsl.
#import "sources/iq1_s.wgsl"
#import "lib/put-codes.ternary.wgsl"
#import "lib/put-scales.planes.wgsl"
const PLANES = 4u;
