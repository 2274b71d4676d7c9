// Codes that are multiplied as integers: those of weights/int8.wgsl.
#import "weights/int8.wgsl"
