// For rows with too many tokens above the cut for sample-cut.wgsl: divides the bracket by WORKGROUP probes, and for each of them counts the
// tokens of a class with larger keys and sums their weights. sample-narrow.wgsl follows.
#import "lib/class-logits.wgsl"
#import "lib/held.wgsl"
#import "lib/largest.wgsl"
#import "lib/probes.wgsl"
#import "lib/row-logits.wgsl"

const WORKGROUP = 256u;
const PROBES = WORKGROUP;

@group(0) @binding(3) var<storage, read> parts: array<Part>;
@group(0) @binding(4) var<storage, read> brackets: array<Bracket>; // [rows]
@group(0) @binding(5) var<storage, read_write> sums: array<vec2u>; // [rows][CLASSES][PROBES] (tokens, mass as bits) above each probe

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let class_number = workgroup.x;
  let row = workgroup.y;
  let choice = choices[row];
  if (!is_cut(choice)) {
    return;
  }
  let bracket = brackets[row];
  if (bracket.known == 1u) {
    return;
  }
  let largest = largest_of(row, local).value;
  let row0 = row * args.stride;
  let rate = 1.0 / choice.temperature;
  let probe = probe_of(bracket, local);
  let length = class_length(class_number);
  var count = 0u;
  var mass = 0.0;
  var next = four_of(row0, class_number, 4u * local, length);
  for (var base = 0u; base < length; base += BLOCK) {
    let logit = next;
    next = four_of(row0, class_number, base + BLOCK + 4u * local, length);
    let number = hold(logit, bracket.low, largest, rate, local);
    for (var i = 0u; i < number; i += 4u) {
      let four = array<vec2u, 4>(held[i], held[i + 1u], held[i + 2u], held[i + 3u]);
      for (var t = 0u; t < 4u; t++) {
        if (four[t].x > probe) {
          count++;
          mass += bitcast<f32>(four[t].y);
        }
      }
    }
    workgroupBarrier();
  }
  sums[entries_of(row, class_number) + local] = vec2u(count, bitcast<u32>(mass));
}
