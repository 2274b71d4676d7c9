// Heads of queries and keys are normalized by an RMSNorm behind their rotation, which changes no sum of squares: only its weights are applied
// later than those of head.norm.wgsl.
#import "lib/behind.zeros.wgsl"
#import "lib/growth.none.wgsl"

const HEAD_NORM = true;

@group(0) @binding(8) var<storage, read> q_norm: array<vec2f>;
@group(0) @binding(5) var<storage, read> k_norm: array<vec2f>;

fn head_weight(is_key: bool, d: u32) -> vec2f {
  return vec2f(1.0);
}

fn turned_weight(is_key: bool, d: u32) -> vec2f {
  if (is_key) {
    return k_norm[d / 2u];
  }
  return q_norm[d / 2u];
}
