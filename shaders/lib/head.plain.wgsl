// Heads of queries and keys are not normalized.
#import "lib/behind.$BEHIND.wgsl"
#import "lib/growth.$GROWTH.wgsl"

const HEAD_NORM = false;

fn head_weight(is_key: bool, d: u32) -> vec2f {
  return vec2f(1.0);
}

fn turned_weight(is_key: bool, d: u32) -> vec2f {
  return vec2f(1.0);
}
