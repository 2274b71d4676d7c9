// Heads of queries and keys are normalized by an RMSNorm without weights.
#import "lib/behind.zeros.wgsl"
#import "lib/growth.none.wgsl"

const HEAD_NORM = true;

fn head_weight(is_key: bool, d: u32) -> vec2f {
  return vec2f(1.0);
}

fn turned_weight(is_key: bool, d: u32) -> vec2f {
  return vec2f(1.0);
}
