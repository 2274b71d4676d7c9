// Blocks of IQ2_XXS, as a file holds them, into the packed layout of weights/iq2_xxs.wgsl.
#import "sources/iq2_xxs.wgsl"
#import "lib/put-codes.eights.wgsl"
#import "lib/put-scales.planes.wgsl"
const PLANES = 1u;
