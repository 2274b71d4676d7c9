// Codes that are multiplied as integers: those of weights/affine4_64_bf16.wgsl.
#import "weights/affine4_64_bf16.wgsl"
