// Codes that are multiplied as integers: those of weights/u8_128.wgsl.
#import "weights/u8_128.wgsl"
