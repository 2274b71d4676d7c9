// Blocks of IQ1_M, as a file holds them, into the packed layout of weights/iq1_m.wgsl.
#import "sources/iq1_m.wgsl"
#import "lib/put-codes.ternary.wgsl"
#import "lib/put-scales.planes.wgsl"
const PLANES = 6u;
