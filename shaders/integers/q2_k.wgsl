// Codes that are multiplied as integers: those of weights/q2_k.wgsl.
#import "weights/q2_k.wgsl"
