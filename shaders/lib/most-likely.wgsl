// Log probabilities of a row's sampled token and of its most likely tokens. The row is divided into CHUNKS strided parts whose maxima are kept,
// so that after a token is taken only its part is searched again.
#import "lib/agree.wgsl"
#import "lib/known-logit.wgsl"
#import "lib/tempered-args.wgsl"

const NONE = 0xffffffffu;
const CHUNKS = 512u;
const MOST = 20u;

struct Logprobs {
  drawn: f32,
  best: array<u32, MOST>,
  values: array<f32, MOST>,
}

@group(0) @binding(2) var<storage, read> ids: array<u32>; // sampled token by row
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> logprobs: array<Logprobs>; // results by row

var<workgroup> maxima: array<Best, CHUNKS>;

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

// `most_likely`: the row's best token, `mass`: the sum of all weights relative to its own.
fn report(choice: Choice, row: u32, most_likely: Best, rate: f32, mass: f32, local: u32) {
  let row0 = row * args.stride;
  let largest = most_likely.value;
  var best = most_likely;
  let total = log(mass);
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
