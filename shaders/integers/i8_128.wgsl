// Codes that are multiplied as integers: those of weights/i8_128.wgsl.
#import "weights/i8_128.wgsl"
