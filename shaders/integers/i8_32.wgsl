// Codes that are multiplied as integers: those of weights/i8_32.wgsl.
#import "weights/i8_32.wgsl"
