// Chooses the tokens with the largest scores for each row, the earlier of equal ones: all, if they are at most `most`. A workgroup finds the
// smallest score that is chosen digit by digit, then writes a bit for each token.
#import "lib/batch.wgsl"
#import "lib/sort-key.wgsl"

const LANES = 128u;
const DIGITS = 256u;

struct Args {
  most: u32,
  score_stride: u32,
  chosen_words: u32, // words from one row of `chosen` to the next
  first_tile: u32,   // tile of the first workgroup, whose first row has the first scores
}

@group(0) @binding(0) var<storage, read> scores: array<f32>;
@group(0) @binding(2) var<storage, read> tiles: array<Tile>;
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> chosen: array<u32>; // [rows][pages]: a bit for each token of a page

var<workgroup> counts: array<atomic<u32>, DIGITS>;
var<workgroup> equal: array<u32, LANES>; // of a lane's tokens, those with the smallest score that is chosen
var<workgroup> found: vec2u; // the digits found so far, and how many tokens with just these digits are chosen

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let tile = tiles[args.first_tile + workgroup.x];
  if (workgroup.y >= tile.rows) {
    return;
  }
  let row = tile.first_row + workgroup.y;
  let tokens = tile.start + workgroup.y + 1u;
  let pages = (tokens + 31u) / 32u;
  let to = row * args.chosen_words;
  if (tokens <= args.most) {
    for (var page = local; page < pages; page += LANES) {
      chosen[to + page] = 0xffffffffu;
    }
    return;
  }
  let at = (row - tiles[args.first_tile].first_row) * args.score_stride;

  var digits = 0u;
  var rest = args.most;
  for (var turn = 0u; turn < 4u; turn++) {
    let shift = 24u - 8u * turn;
    for (var digit = local; digit < DIGITS; digit += LANES) {
      atomicStore(&counts[digit], 0u);
    }
    workgroupBarrier();
    for (var token = local; token < tokens; token += LANES) {
      let own = sort_key(scores[at + token]) >> shift;
      if (turn == 0u || own >> 8u == digits) {
        atomicAdd(&counts[own % DIGITS], 1u);
      }
    }
    workgroupBarrier();
    if (local == 0u) {
      var digit = DIGITS - 1u;
      while (digit > 0u && rest > atomicLoad(&counts[digit])) {
        rest -= atomicLoad(&counts[digit]);
        digit--;
      }
      found = vec2u(digits * DIGITS + digit, rest);
    }
    workgroupBarrier();
    digits = found.x;
    rest = found.y;
    workgroupBarrier();
  }

  // A lane has neighbouring pages, so that the lanes before it have the earlier tokens.
  let each = (pages + LANES - 1u) / LANES;
  let end = min((local + 1u) * each, pages);
  var mine = 0u;
  for (var token = local * each * 32u; token < min(end * 32u, tokens); token++) {
    mine += select(0u, 1u, sort_key(scores[at + token]) == digits);
  }
  equal[local] = mine;
  workgroupBarrier();
  var taken = 0u;
  for (var lane = 0u; lane < local; lane++) {
    taken += equal[lane];
  }
  for (var page = local * each; page < end; page++) {
    var bits = 0u;
    for (var token = page * 32u; token < min(page * 32u + 32u, tokens); token++) {
      let key = sort_key(scores[at + token]);
      let is_equal = key == digits;
      bits |= select(0u, 1u << (token % 32u), key > digits || (is_equal && taken < rest));
      taken += select(0u, 1u, is_equal);
    }
    chosen[to + page] = bits;
  }
}
