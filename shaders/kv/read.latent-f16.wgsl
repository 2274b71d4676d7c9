// Values are the first dimensions of the keys, which kv/write-keys.f16.wgsl writes.
#import "kv/read-keys.f16.wgsl"
#import "lib/chosen.all.wgsl"
#import "lib/kv-scales.none.wgsl"
#import "lib/latent-values.wgsl"
