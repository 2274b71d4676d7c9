// Codes that are multiplied as integers: those of weights/affine8_64_f16.wgsl.
#import "weights/affine8_64_f16.wgsl"
