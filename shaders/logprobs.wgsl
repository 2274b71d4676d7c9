// Log probabilities of the sampled token in each row that requests them, and of the most likely tokens; a workgroup per row.
#import "lib/most-likely.wgsl"

const WORKGROUP = 64u;

struct Args {
  vocabulary: u32,
  stride: u32,   // logits from one row to the next
  tempered: u32, // 1: log probabilities of logits divided by the temperature
}

@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<storage, read> choices: array<Choice>;
@group(0) @binding(2) var<storage, read> ids: array<u32>; // sampled token by row
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> logprobs: array<Logprobs>; // results by row

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
