// Codes that are multiplied as integers: those of weights/u4_128.wgsl.
#import "weights/u4_128.wgsl"
