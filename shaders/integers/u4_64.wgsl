// Codes that are multiplied as integers: those of weights/u4_64.wgsl.
#import "weights/u4_64.wgsl"
