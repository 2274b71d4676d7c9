// Pages without values: a head's value is left out.
#import "kv/write-keys.f16.wgsl"
#import "lib/no-values.wgsl"
