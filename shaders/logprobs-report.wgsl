// Log probabilities of rows whose maxima and weights logprobs-maxima.wgsl and logprobs-mass.wgsl have found; a workgroup per row.
#import "lib/classes.wgsl"
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
@group(0) @binding(5) var<storage, read> found: array<Best>;              // [rows][CHUNKS]
@group(0) @binding(6) var<storage, read> totals: array<f32>;              // [rows][CLASSES]

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let row = workgroup.x;
  let choice = choices[row];
  if (choice.logprobs == 0u) {
    return;
  }
  for (var c = local; c < CHUNKS; c += WORKGROUP) {
    maxima[c] = found[row * CHUNKS + c];
  }
  workgroupBarrier();
  let best = best_of_chunks(local);
  let rate = select(1.0, 1.0 / choice.temperature, args.tempered == 1u && choice.temperature > 0.0);
  report(choice, row, best, rate, sums_of(totals[row * CLASSES + local], 0u, local).value, local);
}
