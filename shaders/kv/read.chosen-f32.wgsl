// As kv/read.latent-f32.wgsl, of the tokens that were chosen for a row.
#import "kv/read-keys.f32.wgsl"
#import "lib/chosen.bits.wgsl"
#import "lib/kv-scales.none.wgsl"
#import "lib/latent-values.wgsl"
