// Codes that are multiplied as integers: those of weights/q6_k.wgsl.
#import "weights/q6_k.wgsl"
