// Pages of codes, as kv/encode.int4.wgsl makes them.
#import "lib/chosen.all.wgsl"
#import "lib/read-codes.wgsl"
#import "kv/digits.int4.wgsl"
