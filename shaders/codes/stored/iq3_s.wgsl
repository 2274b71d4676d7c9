// Blocks of IQ3_S, as a file holds them, into the packed layout of weights/iq3_s.wgsl.
#import "sources/iq3_s.wgsl"
#import "lib/put-codes.fours.wgsl"
#import "lib/put-scales.planes.wgsl"
const PLANES = 3u;
