// Narrows the bracket of a row's cut by the sums of the last pass of sample-search.wgsl, a workgroup per row.
#import "lib/narrowed.wgsl"

const WORKGROUP = 256u;
const PROBES = 32u;

struct Args {
  vocabulary: u32,
  classes: u32,  // CLASSES
}

@group(0) @binding(0) var<storage, read> choices: array<Choice>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read> wide: array<Bracket>;           // [rows]
@group(0) @binding(3) var<storage, read> counted: array<vec2u>;          // of the last pass
@group(0) @binding(4) var<storage, read_write> brackets: array<Bracket>; // [rows]

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let row = workgroup.x;
  let choice = choices[row];
  if (!is_cut(choice)) {
    return;
  }
  var bracket = wide[row];
  if (bracket.known == 0u) {
    bracket = narrowed(bracket, choice, row, args.classes, local);
  }
  if (local == 0u) {
    brackets[row] = bracket;
  }
}
