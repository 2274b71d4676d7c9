// Values are the first dimensions of the keys, which kv/write-keys.f32.wgsl writes.
#import "kv/read-keys.f32.wgsl"
#import "lib/chosen.all.wgsl"
#import "lib/kv-scales.none.wgsl"
#import "lib/latent-values.wgsl"
