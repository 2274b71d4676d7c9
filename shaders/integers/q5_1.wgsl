// Codes that are multiplied as integers: those of weights/q5_1.wgsl.
#import "weights/q5_1.wgsl"
