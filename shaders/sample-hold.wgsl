// Lists the tokens of each class that lie in or above the bracket of a row's cut, as far as there is room, for sample-cut.wgsl.
#import "lib/class-logits.wgsl"
#import "lib/held.wgsl"
#import "lib/largest.wgsl"
#import "lib/row-logits.wgsl"

const WORKGROUP = 256u;

@group(0) @binding(3) var<storage, read> parts: array<Part>;
@group(0) @binding(4) var<storage, read> brackets: array<Bracket>;  // [rows]
@group(0) @binding(5) var<storage, read_write> lists: array<vec2u>; // [rows][CLASSES][WORKGROUP] (key, weight as bits)
@group(0) @binding(6) var<storage, read_write> lengths: array<u32>; // [rows][CLASSES] of the lists, or that they would have

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let class_number = workgroup.x;
  let row = workgroup.y;
  let choice = choices[row];
  if (!is_cut(choice)) {
    return;
  }
  let largest = largest_of(row, local).value;
  let low = brackets[row].low;
  let row0 = row * args.stride;
  let rate = 1.0 / choice.temperature;
  let length = class_length(class_number);
  let list = entries_of(row, class_number);
  var listed = 0u;
  var next = four_of(row0, class_number, 4u * local, length);
  for (var base = 0u; base < length; base += BLOCK) {
    let logit = next;
    next = four_of(row0, class_number, base + BLOCK + 4u * local, length);
    let number = hold(logit, low, largest, rate, local);
    if (local < number && listed + local < WORKGROUP) {
      lists[list + listed + local] = held[local];
    }
    listed += number;
    workgroupBarrier();
  }
  if (local == 0u) {
    lengths[row * CLASSES + class_number] = listed;
  }
}
