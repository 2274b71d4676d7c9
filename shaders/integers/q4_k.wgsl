// Codes that are multiplied as integers: those of weights/q4_k.wgsl.
#import "weights/q4_k.wgsl"
