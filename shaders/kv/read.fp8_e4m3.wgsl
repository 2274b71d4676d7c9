// Pages of codes, as kv/encode.fp8_e4m3.wgsl makes them.
#import "lib/chosen.all.wgsl"
#import "lib/read-codes.wgsl"
#import "kv/digits.fp8_e4m3.wgsl"
