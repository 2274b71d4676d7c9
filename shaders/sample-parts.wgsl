// Prepares rows of logits for drawing with PARTS workgroups a row: applies penalties and biases, replaces NaN and infinities, and finds
// the largest logit of each part. Clears the row's bins.
#import "lib/adjust.wgsl"
#import "lib/best.wgsl"
#import "lib/bins.wgsl"
#import "lib/row-parts.wgsl"

const WORKGROUP = 256u;
const INFINITY = 0x7f800000u; // bits of infinity; those of NaN are larger

struct Args {
  vocabulary: u32,
  stride: u32,   // logits from one row to the next
}

@group(0) @binding(0) var<storage, read_write> logits: array<f32>;
@group(0) @binding(1) var<storage, read> choices: array<Choice>;
@group(0) @binding(2) var<storage, read> biases: array<Bias>;
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read> sampled: array<u32>; // sampled token by slot
@group(0) @binding(5) var<storage, read> counts: array<Count>;
@group(0) @binding(6) var<storage, read_write> parts: array<Part>;

@group(0) @binding(7) var<storage, read_write> bins: array<vec2u>; // [rows][BINS]

var<workgroup> strange: atomic<u32>;

// Replaces NaN and -infinity by a masked logit and +infinity by a very large one.
fn clean(at: u32, value: f32) -> f32 {
  let bits = bitcast<u32>(value);
  if ((bits & INFINITY) != INFINITY) {
    return value;
  }
  if ((bits & 0x7fffffffu) > INFINITY) {
    atomicStore(&strange, 1u);
  }
  let cleaned = select(MASKED, -NEVER, bits == INFINITY);
  logits[at] = cleaned;
  return cleaned;
}

fn logit_at(row0: u32, token: u32, end: u32) -> f32 {
  return logits[row0 + min(token, end - 1u)];
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let row = workgroup.y;
  let row0 = row * args.stride;
  let choice = choices[row];
  let range = range_of(workgroup.x, args.vocabulary);
  owned = range;
  if (local == 0u) {
    atomicStore(&strange, 0u);
  }
  workgroupBarrier();
  if (choice.processor == 0u) {
    adjust(choice, row0, local);
  }
  var best = Best(NEVER, NONE);
  var read = logit_at(row0, range.first + local, range.end);
  for (var i = range.first + local; i < range.end; i += WORKGROUP) {
    let value = clean(row0 + i, read);
    read = logit_at(row0, i + WORKGROUP, range.end); // in flight during the turn
    if (value > best.value) {
      best = Best(value, i);
    }
  }
  best = best_of(best, local);
  for (var bin = workgroup.x * WORKGROUP + local; bin < BINS; bin += PARTS * WORKGROUP) {
    bins[row * BINS + bin] = vec2u();
  }
  if (local == 0u) {
    parts[row * PARTS + workgroup.x] = Part(best.value, best.token, atomicLoad(&strange));
  }
}
