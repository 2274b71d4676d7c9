// Log probabilities of rows whose maxima and weights logprobs-maxima.wgsl and logprobs-mass.wgsl have found; a workgroup per row.
#import "lib/classes.wgsl"
#import "lib/most-likely.wgsl"

const WORKGROUP = 64u;

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
