// Codes that are multiplied as integers: those of weights/u8_32.wgsl.
#import "weights/u8_32.wgsl"
