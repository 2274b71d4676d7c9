// The largest logits of CHUNKS strided parts of each row that requests log probabilities, for logprobs-report.wgsl: a workgroup finds those of
// EACH parts.
#import "lib/best.wgsl"
#import "lib/known-logit.wgsl"
#import "lib/row-logits.wgsl"

const WORKGROUP = 256u;
const CHUNKS = 512u;
const EACH = 8u;
const SHARERS = WORKGROUP / EACH; // invocations that share a part
const NONE = 0xffffffffu;

@group(0) @binding(3) var<storage, read_write> maxima: array<Best>; // [rows][CHUNKS]

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let row = workgroup.y;
  if (choices[row].logprobs == 0u) {
    return;
  }
  let row0 = row * args.stride;
  let chunk = workgroup.x * EACH + local % EACH;
  let first = chunk + local / EACH * CHUNKS;
  var best = Best(MASKED, NONE);
  var next = logit_at(row0 + min(first, args.vocabulary - 1u));
  for (var i = first; i < args.vocabulary; i += SHARERS * CHUNKS) {
    let value = next;
    next = logit_at(row0 + min(i + SHARERS * CHUNKS, args.vocabulary - 1u)); // in flight during the turn
    best = better(best, Best(value, i));
  }
  bests[local] = best;
  workgroupBarrier();
  if (local < EACH) {
    for (var i = local + EACH; i < WORKGROUP; i += EACH) {
      best = better(best, bests[i]);
    }
    maxima[row * CHUNKS + chunk] = best;
  }
}
