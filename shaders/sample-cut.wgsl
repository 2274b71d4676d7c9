// Finds the cut of top-k and top-p exactly where the lists of sample-hold.wgsl hold all tokens above it, a workgroup per row: in turns,
// each divides the bracket by PROBES.
#import "lib/classes.wgsl"
#import "lib/probes.wgsl"
#import "lib/row-parts.wgsl"

const WORKGROUP = 256u;
const PROBES = 16u;
const TURNS = 8u;                     // in which a bracket of all keys becomes one key
const ROOM = WORKGROUP;               // tokens of a list
const SHARERS = WORKGROUP / CLASSES;  // invocations that share the probes of a class
const EACH = PROBES / SHARERS;        // probes of an invocation

struct Args {
  vocabulary: u32,
}

@group(0) @binding(0) var<storage, read> choices: array<Choice>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read> lists: array<vec2u>;            // [rows][CLASSES][ROOM] (key, weight as bits)
@group(0) @binding(3) var<storage, read> lengths: array<u32>;            // [rows][CLASSES]
@group(0) @binding(4) var<storage, read_write> brackets: array<Bracket>; // [rows]

var<workgroup> counts: array<u32, PROBES * CLASSES>;
var<workgroup> masses: array<f32, PROBES * CLASSES>;
var<workgroup> overflows: atomic<u32>;
var<workgroup> fitting: array<u32, PROBES>;
var<workgroup> sums: array<vec2u, PROBES>;
var<workgroup> turns: u32;
var<workgroup> shared_bracket: Bracket;

// Counts and weighs the tokens of a class above each of the own probes, by rising tokens.
fn weigh(bracket: Bracket, row: u32, length: u32, local: u32) {
  let class_number = local % CLASSES;
  let first = local / CLASSES * EACH;
  let list = (row * CLASSES + class_number) * ROOM;
  var count = array<u32, EACH>();
  var mass = array<f32, EACH>();
  for (var i = 0u; i < length; i += 4u) {
    let at = list + min(i + vec4u(0u, 1u, 2u, 3u), vec4u(length - 1u));
    let four = array<vec2u, 4>(lists[at.x], lists[at.y], lists[at.z], lists[at.w]);
    for (var t = 0u; t < 4u; t++) {
      for (var p = 0u; p < EACH; p++) {
        if (four[t].x > probe_of(bracket, first + p) && i + t < length) {
          count[p]++;
          mass[p] += bitcast<f32>(four[t].y);
        }
      }
    }
  }
  for (var p = 0u; p < EACH; p++) {
    counts[(first + p) * CLASSES + class_number] = count[p];
    masses[(first + p) * CLASSES + class_number] = mass[p];
  }
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let row = workgroup.x;
  let choice = choices[row];
  if (!is_cut(choice)) {
    return;
  }
  if (local == 0u) {
    atomicStore(&overflows, 0u);
  }
  workgroupBarrier();
  let length = lengths[row * CLASSES + local % CLASSES];
  let k = select(args.vocabulary, choice.top_k, choice.top_k > 0u);
  if (length > ROOM) {
    atomicStore(&overflows, 1u);
  }
  workgroupBarrier();
  if (local == 0u) {
    shared_bracket = brackets[row];
    turns = select(TURNS, 0u, atomicLoad(&overflows) == 1u);
  }
  let most = workgroupUniformLoad(&turns);
  for (var turn = 0u; turn < most; turn++) {
    let bracket = workgroupUniformLoad(&shared_bracket);
    if (bracket.known == 1u) {
      break;
    }
    weigh(bracket, row, length, local);
    workgroupBarrier();
    if (local < PROBES) {
      var count = 0u;
      var mass = 0.0;
      for (var c = 0u; c < CLASSES; c++) {
        count += counts[local * CLASSES + c];
        mass += masses[local * CLASSES + c];
      }
      fitting[local] = u32(count < k && mass <= bracket.allowed);
      sums[local] = vec2u(count, bitcast<u32>(mass));
    }
    workgroupBarrier();
    if (local == 0u) {
      var first = 0u;
      while (first < PROBES - 1u && fitting[first] == 0u) {
        first++;
      }
      shared_bracket = part_of(bracket, first, sums[first].x, bitcast<f32>(sums[first].y));
    }
  }
  workgroupBarrier();
  if (local == 0u) {
    brackets[row] = shared_bracket;
  }
}
