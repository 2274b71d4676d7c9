// Bounds the cut of top-k and top-p by the bins of sample-bins.wgsl, a workgroup per row. Weights in bins are rounded, so the bracket is wider
// than their sums say by what the rounding can amount to, also that of exact sums.
#import "lib/best.wgsl"
#import "lib/bins.wgsl"
#import "lib/classes.wgsl"
#import "lib/largest.wgsl"
#import "lib/sort-key.wgsl"

const WORKGROUP = 256u;
const BINS_EACH = (BINS + WORKGROUP - 1u) / WORKGROUP; // bins of an invocation


struct Args {
  vocabulary: u32,
}

@group(0) @binding(0) var<storage, read> choices: array<Choice>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read> parts: array<Part>;
@group(0) @binding(3) var<storage, read> bins: array<vec2u>;             // [rows][BINS] (tokens, weight)
@group(0) @binding(4) var<storage, read> totals: array<f32>;             // [rows][CLASSES]
@group(0) @binding(5) var<storage, read_write> brackets: array<Bracket>; // [rows]

var<workgroup> class_totals: array<f32, CLASSES>;
var<workgroup> first_possible: atomic<u32>;
var<workgroup> first_certain: atomic<u32>;

// The sum of all weights, in order.
fn total_of(row: u32, local: u32) -> f32 {
  for (var c = local; c < CLASSES; c += WORKGROUP) {
    class_totals[c] = totals[row * CLASSES + c];
  }
  workgroupBarrier();
  var total = 0.0;
  for (var c = 0u; c < CLASSES; c++) {
    total += class_totals[c];
  }
  return total;
}

// (tokens, mass) of a bin.
fn bin_sums(scale: Scale, row: u32, bin: u32) -> vec2f {
  if (bin >= BINS) {
    return vec2f();
  }
  let stored = vec2f(bins[row * BINS + bin]);
  return vec2f(stored.x, stored.y / scale.one * exp(-f32(bin) * scale.nats));
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let row = workgroup.x;
  let choice = choices[row];
  if (!is_cut(choice)) {
    return;
  }
  let largest = largest_of(row, local).value;
  let scale = scale_of(choice);
  let total = total_of(row, local);
  let allowed = choice.top_p * total;
  let k = f32(select(args.vocabulary, choice.top_k, choice.top_k > 0u));
  let rounding = 1.2e-7 * f32(args.vocabulary / CLASSES + CLASSES);
  let error = total * (1e-4 + rounding + 1.5 * exp(scale.nats) / scale.one);

  if (local == 0u) {
    atomicStore(&first_possible, BINS - 1u);
    atomicStore(&first_certain, BINS - 1u);
  }
  var own = vec2f();
  for (var i = 0u; i < BINS_EACH; i++) {
    own += bin_sums(scale, row, local * BINS_EACH + i);
  }
  var sums = sums_of(own, local).before;
  for (var i = 0u; i < BINS_EACH; i++) {
    let bin = local * BINS_EACH + i;
    sums += bin_sums(scale, row, bin);
    if (sums.x >= k || (choice.top_p < 1.0 && sums.y > allowed - error)) {
      atomicMin(&first_possible, bin);
    }
    if (sums.x >= k || (choice.top_p < 1.0 && sums.y > allowed + error)) {
      atomicMin(&first_certain, bin);
    }
  }
  workgroupBarrier();
  // A token may lie one bin away from where its key does.
  let above = atomicLoad(&first_possible);
  let below = atomicLoad(&first_certain);
  var low = sort_key(NEVER);
  if (below < BINS - 2u) {
    low = max(low, sort_key(largest - f32(below + 2u) * scale.width));
  }
  var high = sort_key(largest);
  if (above > 1u) {
    high = max(low, sort_key(largest - f32(above - 1u) * scale.width));
  }
  if (local == 0u) {
    brackets[row] = Bracket(low, high, 0u, 0.0, allowed, 0u);
  }
}
