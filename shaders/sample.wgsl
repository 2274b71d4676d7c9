// Draws one token per row of logits, a workgroup per row: penalties and biases, then greedy, or temperature, top-k and top-p
// together, min-p, and Gumbel-max over the remaining tokens. The random number is a hash of (seed, position, token), so that it
// needs no state and is the same in any batch. Among equal logits the lowest token wins and is kept first.
#import "lib/adjust.wgsl"
#import "lib/agree.wgsl"
#import "lib/choice.wgsl"
#import "lib/cut.wgsl"
#import "lib/owned.row.wgsl"
#import "lib/random.wgsl"

const WORKGROUP = 64u;
const NONE = 0xffffffffu;    // id of a row in which every logit is NaN
const FOREIGN = 0xfffffffeu; // id of a row in which no token is allowed

struct Args {
  vocabulary: u32,
  stride: u32,   // logits from one row to the next
}

@group(0) @binding(0) var<storage, read_write> logits: array<f32>;
@group(0) @binding(1) var<storage, read> choices: array<Choice>;
@group(0) @binding(2) var<storage, read> biases: array<Bias>;
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> sampled: array<u32>; // sampled token by slot
@group(0) @binding(5) var<storage, read_write> ids: array<u32>;     // sampled token by row
@group(0) @binding(6) var<storage, read> counts: array<Count>;

// Replaces NaN and -infinity by a masked logit and +infinity by a very large one; returns true for NaN.
fn clean(at: u32) -> bool {
  let bits = bitcast<u32>(logits[at]);
  if ((bits & 0x7f800000u) != 0x7f800000u) {
    return false;
  }
  logits[at] = select(MASKED, -NEVER, bits == 0x7f800000u);
  return (bits & 0x7fffffffu) > 0x7f800000u;
}

fn draw(choice: Choice, row0: u32, largest: f32, local: u32) -> u32 {
  var cut = Cut(0u, NONE);
  if (choice.top_k > 0u || choice.top_p < 1.0) {
    cut = find_cut(choice, row0, largest, local);
  }
  let rate = 1.0 / choice.temperature;
  let floor = select(-3.4e38, log(choice.min_p), choice.min_p > 0.0);
  let stream = mix(choice.seed_low ^ mix(choice.seed_high ^ mix(choice.position + 0x9e3779b9u)));
  var best = Best(-3.4e38, NONE);
  for (var i = local; i < args.vocabulary; i += WORKGROUP) {
    let value = logits[row0 + i];
    let key = sort_key(value);
    let relative = (value - largest) * rate;
    let kept = key > cut.key || (key == cut.key && i <= cut.limit);
    if (kept && relative >= floor && value > NEVER) {
      let score = relative + gumbel(mix(mix(i * 0x9e3779b1u + stream) ^ choice.seed_low));
      if (score > best.value) {
        best = Best(score, i);
      }
    }
  }
  return best_of(best.value, best.token, local).token;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let row0 = workgroup.x * args.stride;
  let choice = choices[workgroup.x];
  if (choice.processor == 0u) {
    adjust(choice, row0, local);
  }

  var best = Best(NEVER, NONE);
  if (choice.temperature == 0.0) {
    for (var i = local; i < args.vocabulary; i += WORKGROUP) {
      let value = logits[row0 + i];
      if (value > best.value) {
        best = Best(value, i);
      }
    }
    best = best_of(best.value, best.token, local);
  }
  // NaN logits matter only if their number is needed, or if all logits are NaN.
  var strange = 0u;
  if (best.token == NONE || best.value > -NEVER) {
    best = Best(NEVER, NONE);
    for (var i = local; i < args.vocabulary; i += WORKGROUP) {
      strange |= u32(clean(row0 + i));
      let value = logits[row0 + i];
      if (value > best.value) {
        best = Best(value, i);
      }
    }
    best = best_of(best.value, best.token, local);
  }
  var token = best.token;
  if (token == NONE && sums_of(0.0, strange, local).token == 0u) {
    token = FOREIGN;
  }
  if (choice.temperature > 0.0 && token < FOREIGN) {
    token = draw(choice, row0, best.value, local);
  }
  if (local == 0u) {
    sampled[choice.slot] = token;
    ids[workgroup.x] = token;
  }
}
