// Codes that are multiplied as integers: those of weights/q5_k.wgsl.
#import "weights/q5_k.wgsl"
