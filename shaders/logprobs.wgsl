// Log probabilities of the sampled token in each row that requests them, and of the most likely tokens; a workgroup per row.
#import "lib/most-likely.wgsl"

const WORKGROUP = 64u;

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
  let best = best_of_chunks(local);
  let largest = best.value;
  let rate = select(1.0, 1.0 / choice.temperature, args.tempered == 1u && choice.temperature > 0.0);
  var mass = 0.0;
  for (var i = local; i < args.vocabulary; i += WORKGROUP) {
    mass += exp((logit_at(row0 + i) - largest) * rate);
  }
  report(choice, row, best, rate, sums_of(mass, 0u, local).value, local);
}
