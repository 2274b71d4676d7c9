// Codes that are multiplied as integers: those of weights/u8_64.wgsl.
#import "weights/u8_64.wgsl"
