// Pages of codes, as kv/encode.int8.wgsl makes them.
#import "lib/chosen.all.wgsl"
#import "lib/read-codes.wgsl"
#import "kv/digits.int8.wgsl"
