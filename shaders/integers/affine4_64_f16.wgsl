// Codes that are multiplied as integers: those of weights/affine4_64_f16.wgsl.
#import "weights/affine4_64_f16.wgsl"
