// For rows with too many tokens above the cut for sample-cut.wgsl: narrows the bracket by the sums of the pass before, divides it by PROBES probes,
// and for each of them counts the tokens of a class with larger keys and sums their weights. A token costs as many additions as there are probes,
// so that few of them in many passes take less time than many in few.
#import "lib/class-logits.wgsl"
#import "lib/held.wgsl"
#import "lib/largest.wgsl"
#import "lib/narrowed.wgsl"
#import "lib/choice.wgsl"

const WORKGROUP = 256u; // at least PROBES
const PROBES = 32u;

struct Args {
  vocabulary: u32,
  stride: u32,   // logits from one row to the next
  classes: u32,  // CLASSES
  narrows: u32,  // 0: the first pass, which has no sums before it
}

@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<storage, read> choices: array<Choice>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read> parts: array<Part>;
@group(0) @binding(4) var<storage, read> wide: array<Bracket>;         // [rows]
@group(0) @binding(5) var<storage, read> counted: array<vec2u>;        // of the pass before
@group(0) @binding(6) var<storage, read_write> brackets: array<Bracket>; // [rows]
@group(0) @binding(7) var<storage, read_write> sums: array<vec2u>;     // [rows][CLASSES][PROBES] (tokens, mass as bits) above each probe

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let class_number = workgroup.x;
  let row = workgroup.y;
  let choice = choices[row];
  if (!is_cut(choice)) {
    return;
  }
  var bracket = wide[row];
  if (args.narrows == 1u && bracket.known == 0u) {
    bracket = narrowed(bracket, choice, row, args.classes, local);
  }
  if (class_number == 0u && local == 0u) {
    brackets[row] = bracket;
  }
  if (bracket.known == 1u) {
    return;
  }
  let largest = largest_of(row, local).value;
  let row0 = row * args.stride;
  let rate = 1.0 / choice.temperature;
  let probe = probe_of(bracket, min(local, PROBES - 1u));
  let length = class_length(class_number);
  var count = 0u;
  var mass = 0.0;
  var next = four_of(row0, class_number, 4u * local, length);
  for (var base = 0u; base < length; base += BLOCK) {
    let logit = next;
    next = four_of(row0, class_number, base + BLOCK + 4u * local, length);
    let number = hold(logit, bracket.low, largest, rate, local);
    if (local < PROBES) {
      for (var i = 0u; i < number; i += 4u) {
        let four = array<vec2u, 4>(held[i], held[i + 1u], held[i + 2u], held[i + 3u]);
        for (var t = 0u; t < 4u; t++) {
          if (four[t].x > probe) {
            count++;
            mass += bitcast<f32>(four[t].y);
          }
        }
      }
    }
    workgroupBarrier();
  }
  if (local < PROBES) {
    sums[(row * CLASSES + class_number) * PROBES + local] = vec2u(count, bitcast<u32>(mass));
  }
}
