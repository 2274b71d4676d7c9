// Codes that are multiplied as integers: those of weights/q3_k.wgsl.
#import "weights/q3_k.wgsl"
