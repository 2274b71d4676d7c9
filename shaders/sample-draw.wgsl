// Draws a token of each part of a row by Gumbel-max, as sample.wgsl does for the whole row. Tokens at the cut of top-k and top-p are counted
// and drawn apart, since only the lowest of them may be kept.
#import "lib/largest.wgsl"
#import "lib/row-logits.wgsl"
#import "lib/score.wgsl"
#import "lib/sort-key.wgsl"

const WORKGROUP = 256u;

@group(0) @binding(3) var<storage, read> parts: array<Part>;
@group(0) @binding(4) var<storage, read> cuts: array<Bracket>;      // [rows]
@group(0) @binding(5) var<storage, read_write> drawn: array<Drawn>; // [rows][PARTS]

var<workgroup> equals: atomic<u32>;

fn logit_at(row0: u32, token: u32, end: u32) -> f32 {
  return logits[row0 + min(token, end - 1u)];
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let row = workgroup.y;
  let choice = choices[row];
  if (choice.temperature == 0.0) {
    return;
  }
  if (local == 0u) {
    atomicStore(&equals, 0u);
  }
  let largest = largest_of(row, local).value;
  var key = 0u;
  if (is_cut(choice)) {
    key = cuts[row].high;
  }
  let row0 = row * args.stride;
  let race = race_of(choice, largest);
  let range = range_of(workgroup.x, args.vocabulary);
  var above = Best(LOWEST, NONE);
  var equal = Best(LOWEST, NONE);
  var number = 0u;
  var next = logit_at(row0, range.first + local, range.end);
  for (var i = range.first + local; i < range.end; i += WORKGROUP) {
    let value = next;
    next = logit_at(row0, i + WORKGROUP, range.end); // in flight during the turn
    let own = sort_key(value);
    number += u32(own == key);
    if (own >= key && may_win(race, value)) {
      let score = score_of(race, value, i);
      if (own > key && score > above.value) {
        above = Best(score, i);
      } else if (own == key && score > equal.value) {
        equal = Best(score, i);
      }
    }
  }
  if (is_cut(choice)) {
    atomicAdd(&equals, number);
    equal = best_of(equal, local);
  }
  above = best_of(above, local);
  if (local == 0u) {
    drawn[row * PARTS + workgroup.x] =
      Drawn(above.value, above.token, equal.value, equal.token, atomicLoad(&equals), 0u);
  }
}
