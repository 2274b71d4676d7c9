// Narrows the bracket of a row's cut to the part in which the sums of sample-search.wgsl put it (the kernel declares PROBES, and `counted`:
// [rows][CLASSES][PROBES] (tokens, mass as bits) above each probe). All workgroups that do so get the same bracket.
#import "lib/classes.wgsl"
#import "lib/probes.wgsl"
#import "lib/row-parts.wgsl"

var<workgroup> fitting: array<u32, PROBES>;
var<workgroup> above: array<vec2u, PROBES>; // (tokens, mass as bits)
var<workgroup> shared_bracket: Bracket;

// `classes`: CLASSES; as a constant it would make compilers unroll the loop.
fn narrowed(bracket: Bracket, choice: Choice, row: u32, classes: u32, local: u32) -> Bracket {
  if (local < PROBES) {
    var count = 0u;
    var mass = 0.0;
    for (var c = 0u; c < classes; c += 4u) {
      let at = (row * classes + c) * PROBES + local;
      let first = counted[at];
      let second = counted[at + PROBES];
      let third = counted[at + 2u * PROBES];
      let fourth = counted[at + 3u * PROBES];
      count += first.x + second.x + third.x + fourth.x;
      mass = mass + bitcast<f32>(first.y) + bitcast<f32>(second.y) + bitcast<f32>(third.y) + bitcast<f32>(fourth.y);
    }
    let k = select(args.vocabulary, choice.top_k, choice.top_k > 0u);
    fitting[local] = u32(count < k && mass <= bracket.allowed);
    above[local] = vec2u(count, bitcast<u32>(mass));
  }
  workgroupBarrier();
  if (local == 0u) {
    var first = 0u;
    while (first < PROBES - 1u && fitting[first] == 0u) {
      first++;
    }
    shared_bracket = part_of(bracket, first, above[first].x, bitcast<f32>(above[first].y));
  }
  return workgroupUniformLoad(&shared_bracket);
}
