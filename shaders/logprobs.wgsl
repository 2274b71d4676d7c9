// Log probabilities of the sampled token in each row that requests them, and of the most likely tokens; a workgroup per row. The
// row is divided into CHUNKS strided parts whose maxima are kept, so that after a token is taken only its part is searched again.
#import "lib/agree.wgsl"
#import "lib/choice.wgsl"

const WORKGROUP = 64u;
const NONE = 0xffffffffu;
const CHUNKS = 512u;
const MOST = 20u;

struct Args {
  vocabulary: u32,
  stride: u32,   // logits from one row to the next
  tempered: u32, // 1: log probabilities of logits divided by the temperature
}

struct Logprobs {
  drawn: f32,
  best: array<u32, MOST>,
  values: array<f32, MOST>,
}

@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<storage, read> choices: array<Choice>;
@group(0) @binding(2) var<storage, read> ids: array<u32>; // sampled token by row
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> logprobs: array<Logprobs>; // results by row

var<workgroup> maxima: array<Best, CHUNKS>;

fn logit_at(i: u32) -> f32 {
  let value = logits[i];
  let bits = bitcast<u32>(value);
  return select(clamp(value, MASKED, -NEVER), MASKED, (bits & 0x7fffffffu) > 0x7f800000u);
}

fn best_of_chunks(local: u32) -> Best {
  var best = Best(MASKED, NONE);
  for (var c = local; c < CHUNKS; c += WORKGROUP) {
    let one = maxima[c];
    if (one.value > best.value || (one.value == best.value && one.token < best.token)) {
      best = one;
    }
  }
  return best_of(best.value, best.token, local);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let row = workgroup.x;
  let choice = choices[row];
  if (choice.logprobs == 0u) {
    return;
  }
  let row0 = row * args.stride;
  for (var c = local; c < CHUNKS; c += WORKGROUP) {
    var best = Best(MASKED, NONE);
    for (var i = c; i < args.vocabulary; i += CHUNKS) {
      let value = logit_at(row0 + i);
      if (value > best.value || best.token == NONE) {
        best = Best(value, i);
      }
    }
    maxima[c] = best;
  }
  workgroupBarrier();
  var best = best_of_chunks(local);
  let largest = best.value;
  let rate = select(1.0, 1.0 / choice.temperature, args.tempered == 1u && choice.temperature > 0.0);
  var mass = 0.0;
  for (var i = local; i < args.vocabulary; i += WORKGROUP) {
    mass += exp((logit_at(row0 + i) - largest) * rate);
  }
  let total = log(sums_of(mass, 0u, local).value);
  if (local == 0u) {
    let drawn = logit_at(row0 + min(ids[row], args.vocabulary - 1u));
    logprobs[row].drawn = (drawn - largest) * rate - total;
  }

  let count = min(choice.logprobs - 1u, MOST);
  for (var k = 0u; k < count; k++) {
    if (local == 0u) {
      logprobs[row].best[k] = best.token;
      logprobs[row].values[k] = (best.value - largest) * rate - total;
    }
    let chunk = best.token % CHUNKS;
    var next = Best(MASKED, NONE);
    for (var i = chunk + local * CHUNKS; i < args.vocabulary; i += CHUNKS * WORKGROUP) {
      let value = logit_at(row0 + i);
      let after = value < best.value || (value == best.value && i > best.token);
      if (after && (value > next.value || next.token == NONE)) {
        next = Best(value, i);
      }
    }
    next = best_of(next.value, next.token, local);
    if (local == 0u) {
      maxima[chunk] = next;
    }
    workgroupBarrier();
    best = best_of_chunks(local);
  }
}
