// Codes that are multiplied as integers: those of weights/q4_0.wgsl.
#import "weights/q4_0.wgsl"
