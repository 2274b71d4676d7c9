// Codes that are multiplied as integers: those of weights/q8_0.wgsl.
#import "weights/q8_0.wgsl"
