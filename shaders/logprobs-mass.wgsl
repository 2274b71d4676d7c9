// Sums the weights of each class of a row that requests log probabilities, in the order of logprobs.wgsl.
#import "lib/best.wgsl"
#import "lib/classes.wgsl"
#import "lib/known-logit.wgsl"
#import "lib/tempered-args.wgsl"

const WORKGROUP = 256u;
const CHUNKS = 512u;
const BLOCK = 4u * WORKGROUP; // tokens of a class that are weighed at a time
const NONE = 0xffffffffu;

@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read> maxima: array<Best>;      // [rows][CHUNKS]
@group(0) @binding(4) var<storage, read_write> totals: array<f32>; // [rows][CLASSES]

var<workgroup> staged: array<vec4f, WORKGROUP>;

// Weights of four consecutive tokens of a class; beyond its end zero.
fn weights_of(row0: u32, class_number: u32, first: u32, largest: f32, rate: f32) -> vec4f {
  let at = class_number + CLASSES * (first + vec4u(0u, 1u, 2u, 3u));
  let own = row0 + min(at, vec4u(args.vocabulary - 1u));
  let logit = vec4f(logit_at(own.x), logit_at(own.y), logit_at(own.z), logit_at(own.w));
  return select(vec4f(), exp((logit - largest) * rate), at < vec4u(args.vocabulary));
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let class_number = workgroup.x;
  let row = workgroup.y;
  let choice = choices[row];
  if (choice.logprobs == 0u) {
    return;
  }
  var best = Best(MASKED, NONE);
  for (var c = local; c < CHUNKS; c += WORKGROUP) {
    best = better(best, maxima[row * CHUNKS + c]);
  }
  let largest = best_of(best, local).value;
  let rate = select(1.0, 1.0 / choice.temperature, args.tempered == 1u && choice.temperature > 0.0);
  var total = 0.0;
  for (var base = 0u; class_number + CLASSES * base < args.vocabulary; base += BLOCK) {
    staged[local] = weights_of(row * args.stride, class_number, base + 4u * local, largest, rate);
    workgroupBarrier();
    if (local == 0u) {
      for (var q = 0u; q < WORKGROUP; q++) {
        total = total + staged[q].x + staged[q].y + staged[q].z + staged[q].w;
      }
    }
    workgroupBarrier();
  }
  if (local == 0u) {
    totals[row * CLASSES + class_number] = total;
  }
}
