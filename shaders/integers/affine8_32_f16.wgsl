// Codes that are multiplied as integers: those of weights/affine8_32_f16.wgsl.
#import "weights/affine8_32_f16.wgsl"
