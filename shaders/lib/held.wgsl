// Tokens of a block of a class that lie above the lower end of a bracket.
#import "lib/best.wgsl"
#import "lib/sort-key.wgsl"

var<workgroup> held: array<vec2u, BLOCK + 4u>; // (key, weight as bits) by rising tokens, then four zeros

// Holds those of the block with keys above `low`; `logit`: the own four. Returns their number, the same for every invocation.
fn hold(logit: vec4f, low: u32, largest: f32, rate: f32, local: u32) -> u32 {
  let keys = vec4u(sort_key(logit.x), sort_key(logit.y), sort_key(logit.z), sort_key(logit.w));
  let weights = bitcast<vec4u>(exp((logit - largest) * rate));
  let kept = keys > vec4u(low);
  let number = vec4u(kept);
  let sums = sums_of(vec2f(f32(number.x + number.y + number.z + number.w), 0.0), local);
  var at = u32(sums.before.x);
  for (var t = 0u; t < 4u; t++) {
    if (kept[t]) {
      held[at] = vec2u(keys[t], weights[t]);
      at++;
    }
  }
  let all = u32(sums.all.x);
  if (local < 4u) {
    held[all + local] = vec2u();
  }
  workgroupBarrier();
  return all;
}
