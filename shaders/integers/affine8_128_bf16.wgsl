// Codes that are multiplied as integers: those of weights/affine8_128_bf16.wgsl.
#import "weights/affine8_128_bf16.wgsl"
