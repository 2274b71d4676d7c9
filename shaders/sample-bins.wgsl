// For rows that top-k or top-p cut: counts and weighs the tokens of each class in bins by the distance of their logit to the largest, and
// sums the weights of the class.
#import "lib/bins.wgsl"
#import "lib/class-logits.wgsl"
#import "lib/largest.wgsl"
#import "lib/row-logits.wgsl"

const WORKGROUP = 256u;

@group(0) @binding(3) var<storage, read> parts: array<Part>;
@group(0) @binding(4) var<storage, read_write> bins: array<atomic<u32>>; // [rows][BINS] (tokens, weight); zeros before
@group(0) @binding(5) var<storage, read_write> totals: array<f32>;       // [rows][CLASSES]

var<workgroup> numbers: array<atomic<u32>, BINS>;
var<workgroup> weights: array<atomic<u32>, BINS>;
var<workgroup> staged: array<vec4f, WORKGROUP>;

// The sum with four more terms, in order.
fn sum_on(sum: f32, terms: vec4f) -> f32 {
  return sum + terms.x + terms.y + terms.z + terms.w;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let class_number = workgroup.x;
  let row = workgroup.y;
  let choice = choices[row];
  if (!is_cut(choice)) {
    return;
  }
  for (var bin = local; bin < BINS; bin += WORKGROUP) {
    atomicStore(&numbers[bin], 0u);
    atomicStore(&weights[bin], 0u);
  }
  let largest = largest_of(row, local).value;
  let row0 = row * args.stride;
  let rate = 1.0 / choice.temperature;
  let scale = scale_of(choice);
  let length = class_length(class_number);
  var total = 0.0;
  var next = four_of(row0, class_number, 4u * local, length);
  for (var base = 0u; base < length; base += BLOCK) {
    let logit = next;
    next = four_of(row0, class_number, base + BLOCK + 4u * local, length);
    staged[local] = exp((logit - largest) * rate);
    workgroupBarrier();
    for (var t = 0u; t < 4u && base + 4u * local + t < length; t++) {
      let bin = bin_of(scale, largest - logit[t]);
      atomicAdd(&numbers[bin], 1u);
      atomicAdd(&weights[bin], weight_in(scale, bin, (logit[t] - largest) * rate));
    }
    if (local == 0u) {
      // Weights beyond the class's end are zero.
      for (var q = 0u; 4u * q < min(BLOCK, length - base); q += 4u) {
        total = sum_on(sum_on(total, staged[q]), staged[q + 1u]);
        total = sum_on(sum_on(total, staged[q + 2u]), staged[q + 3u]);
      }
    }
    workgroupBarrier();
  }
  for (var bin = local; bin < BINS; bin += WORKGROUP) {
    let number = atomicLoad(&numbers[bin]);
    if (number > 0u) {
      atomicAdd(&bins[2u * (row * BINS + bin)], number);
      atomicAdd(&bins[2u * (row * BINS + bin) + 1u], atomicLoad(&weights[bin]));
    }
  }
  if (local == 0u) {
    totals[row * CLASSES + class_number] = total;
  }
}
