// Blocks of IQ3_XXS, as a file holds them, into the packed layout of weights/iq3_xxs.wgsl.
#import "sources/iq3_xxs.wgsl"
#import "lib/put-codes.fours.wgsl"
#import "lib/put-scales.planes.wgsl"
const PLANES = 1u;
