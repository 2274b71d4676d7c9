// Codes that are multiplied as integers: those of weights/int4.wgsl.
#import "weights/int4.wgsl"
