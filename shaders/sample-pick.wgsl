// Picks the token of a row from those of its parts, a workgroup per row. Among tokens at the cut of top-k and top-p the lowest are kept, as
// many as both allow.
#import "lib/largest.wgsl"
#import "lib/row-logits.wgsl"
#import "lib/score.wgsl"
#import "lib/sort-key.wgsl"

const WORKGROUP = 256u;
const FOREIGN = 0xfffffffeu; // id of a row in which no token is allowed

@group(0) @binding(3) var<storage, read> parts: array<Part>;
@group(0) @binding(4) var<storage, read> cuts: array<Bracket>;      // [rows]
@group(0) @binding(5) var<storage, read> drawn: array<Drawn>;       // [rows][PARTS]
@group(0) @binding(6) var<storage, read_write> sampled: array<u32>; // sampled token by slot
@group(0) @binding(7) var<storage, read_write> ids: array<u32>;     // sampled token by row

struct Border {
  part: u32,   // in which the last kept token of those at the cut lies; PARTS: none is cut
  first: u32,  // how many of its tokens at the cut are kept
}

var<workgroup> strange: atomic<u32>;
var<workgroup> equals: array<u32, PARTS>;
var<workgroup> border: Border;
var<workgroup> flags: array<u32, WORKGROUP>;

// How many tokens at the cut are kept.
fn room_of(choice: Choice, cut: Bracket, largest: f32) -> u32 {
  let each = exp((number_of(cut.high) - largest) * (1.0 / choice.temperature));
  let by_mass = u32(clamp((cut.allowed - cut.mass) / max(each, 1e-30), 0.0, 16777216.0)) + 1u;
  let k = select(args.vocabulary, choice.top_k, choice.top_k > 0u);
  return min(k - cut.count, by_mass);
}

// The best of the first `border.first` tokens at the cut in the part that `border` names.
fn best_at_border(choice: Choice, row: u32, key: u32, largest: f32, local: u32) -> Best {
  let at = workgroupUniformLoad(&border);
  let row0 = row * args.stride;
  let race = race_of(choice, largest);
  var best = Best(LOWEST, NONE);
  if (at.part == PARTS) {
    return best;
  }
  let range = range_of(at.part, args.vocabulary);
  var passed = 0u;
  for (var base = range.first; base < range.end; base += WORKGROUP) {
    let token = base + local;
    let value = logits[row0 + min(token, range.end - 1u)];
    let own = token < range.end && sort_key(value) == key;
    flags[local] = u32(own);
    workgroupBarrier();
    var rank = passed;
    for (var i = 0u; i < WORKGROUP; i++) {
      passed += flags[i];
      rank += select(0u, flags[i], i < local);
    }
    workgroupBarrier();
    if (own && rank < at.first && may_win(race, value)) {
      best = better(best, Best(score_of(race, value, token), token));
    }
  }
  return best;
}

// The winner of a row's parts.
fn winner_of(choice: Choice, row: u32, largest: f32, local: u32) -> Best {
  var best = Best(LOWEST, NONE);
  let is_part = local < PARTS;
  var own = Drawn(LOWEST, NONE, LOWEST, NONE, 0u, 0u);
  if (is_part) {
    own = drawn[row * PARTS + local];
    best = Best(own.score, own.token);
    equals[local] = own.equals;
  }
  workgroupBarrier();
  if (is_cut(choice)) {
    let cut = cuts[row];
    let room = room_of(choice, cut, largest);
    var before = 0u;
    for (var part = 0u; part < PARTS; part++) {
      before += select(0u, equals[part], part < local);
    }
    if (local == 0u) {
      border = Border(PARTS, 0u);
    }
    workgroupBarrier();
    if (is_part && before + own.equals <= room) {
      best = better(best, Best(own.equal_score, own.equal_token));
    } else if (is_part && before < room) {
      border = Border(local, room - before);
    }
    workgroupBarrier();
    best = better(best, best_at_border(choice, row, cut.high, largest, local));
  }
  return best_of(best, local);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let row = workgroup.x;
  let choice = choices[row];
  if (local == 0u) {
    atomicStore(&strange, 0u);
  }
  let largest = largest_of(row, local);
  if (local < PARTS && parts[row * PARTS + local].strange == 1u) {
    atomicStore(&strange, 1u);
  }
  workgroupBarrier();
  var token = largest.token;
  if (token == NONE) {
    token = select(FOREIGN, NONE, atomicLoad(&strange) == 1u);
  } else if (choice.temperature > 0.0) {
    token = winner_of(choice, row, largest.value, local).token;
  }
  if (local == 0u) {
    sampled[choice.slot] = token;
    ids[row] = token;
  }
}
