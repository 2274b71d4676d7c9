// Narrows the bracket of a row's cut to the part in which the sums of sample-search.wgsl put it, a workgroup per row.
#import "lib/classes.wgsl"
#import "lib/probes.wgsl"
#import "lib/row-parts.wgsl"

const WORKGROUP = 256u;
const PROBES = WORKGROUP;

struct Args {
  vocabulary: u32,
  classes: u32,  // CLASSES; as a constant it makes compilers unroll the loop
}

@group(0) @binding(0) var<storage, read> choices: array<Choice>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read> sums: array<vec2u>;             // [rows][CLASSES][PROBES] (tokens, mass as bits)
@group(0) @binding(3) var<storage, read_write> brackets: array<Bracket>; // [rows]

var<workgroup> first_fitting: atomic<u32>;
var<workgroup> narrowed: Bracket;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let row = workgroup.x;
  let choice = choices[row];
  if (!is_cut(choice)) {
    return;
  }
  if (local == 0u) {
    narrowed = brackets[row];
    atomicStore(&first_fitting, PROBES - 1u);
  }
  let bracket = workgroupUniformLoad(&narrowed);
  if (bracket.known == 1u) {
    return;
  }
  var count = 0u;
  var mass = 0.0;
  for (var c = 0u; c < args.classes; c += 4u) {
    let first = sums[entries_of(row, c) + local];
    let second = sums[entries_of(row, c + 1u) + local];
    let third = sums[entries_of(row, c + 2u) + local];
    let fourth = sums[entries_of(row, c + 3u) + local];
    count += first.x + second.x + third.x + fourth.x;
    mass = mass + bitcast<f32>(first.y) + bitcast<f32>(second.y) + bitcast<f32>(third.y) + bitcast<f32>(fourth.y);
  }
  let k = select(args.vocabulary, choice.top_k, choice.top_k > 0u);
  if (count < k && mass <= bracket.allowed) {
    atomicMin(&first_fitting, local);
  }
  workgroupBarrier();
  if (local == atomicLoad(&first_fitting)) {
    brackets[row] = part_of(bracket, local, count, mass);
  }
}
