// Paged attention of a prompt's rows on GPUs, with online softmax. A workgroup is one tile and key head, and 16 · EACH of the tile's queries
// (rows × query heads of that key head), page by page. For the scores, eight lanes hold the 32 tokens of a page, for EACH queries; for
// the values, a lane holds four dimensions of every WALKERS-th query. Pages that are masked for a query change nothing, so its result does not
// depend on the other queries.
diagnostic(off, subgroup_uniformity); // eight consecutive lanes are in one subgroup and reach each shuffle together
enable subgroups;
#import "lib/attention-args.wgsl"
#import "lib/attention-inputs.wgsl"
#import "lib/batch.wgsl"
#import "lib/cap.$CAP.wgsl"
#import "lib/lanes.wgsl"
#import "lib/row-padding.wgsl"
#import "lib/seen-tokens.wgsl"
#import "lib/segment.$SEGMENT.wgsl"
#import "lib/sinks.$SINKS.wgsl"
#import "lib/softmax-state.wgsl"
#import "kv/read.$KV.wgsl"

const DIMS = 128u;
const VALUE_DIMS = 128u; // of the dimensions, or as many
const EACH = 4u; // queries of eight lanes

const LANES = 128u;
const FILLS_REGISTERS = true;
const QUERIES = LANES / 8u * EACH;
const QUADS = DIMS / 4u;
const VALUE_QUADS = VALUE_DIMS / 4u;
const WALKERS = min(LANES / VALUE_QUADS, QUERIES);
const OUT = (QUERIES + WALKERS - 1u) / WALKERS; // queries of a walker

var<workgroup> weights: array<vec4f, QUERIES * 8u>; // of a page
var<workgroup> kept: array<f32, QUERIES>;
var<workgroup> states: array<vec2f, QUERIES>;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let tile = tiles[args.first_tile + workgroup.x];
  let kv_head = workgroup.y;
  let share = args.heads / args.kv_heads;
  let queries = tile.rows * share;
  let first = workgroup.z * QUERIES;
  if (first >= queries) {
    return;
  }
  let last = min(first + QUERIES, queries) - 1u;
  let first_page = first_page_of(tile, tile.start + first / share);
  let last_page = last_page_of(tile, tile.start + last / share);
  let segment = segment_of(tile, first_page, last_page);
  if (segment.first > segment.last) {
    return;
  }
  let goes_on = is_resumed(segment, first_page);

  let lane = local % 8u;
  let team = local / 8u;
  let quad = local % VALUE_QUADS;
  let walker = local / VALUE_QUADS; // beyond WALKERS: none
  var q0: array<u32, EACH>;
  var position: array<u32, EACH>;
  var largest: array<f32, EACH>;
  var total: array<f32, EACH>;
  for (var e = 0u; e < EACH; e++) {
    let query = min(first + team * EACH + e, queries - 1u);
    q0[e] = (tile.first_row + query / share) * args.q_quads + (kv_head * share + query % share) * QUADS;
    position[e] = tile.start + query / share;
    largest[e] = MASKED;
    if (goes_on) {
      let state = held_state(tile.first_row + query / share, kv_head * share + query % share, lane);
      largest[e] = state.x;
      total[e] = state.y;
    }
  }

  var out: array<vec4f, OUT>;
  if (goes_on && walker < WALKERS) {
    for (var o = 0u; o < OUT; o++) {
      let query = min(first + o * WALKERS + walker, queries - 1u);
      out[o] = y[(tile.first_row + query / share) * args.y_quads + (kv_head * share + query % share) * VALUE_QUADS + quad];
    }
  }
  for (var page = segment.first; page <= segment.last; page++) {
    if (!any_chosen(tile.first_row + first / share, tile.first_row + last / share, page, page)) {
      continue;
    }
    let head = stored_page(tile, page) * args.kv_heads + kv_head;
    var s = array<vec4f, EACH>();
    for (var at = 0u; at < QUADS; at++) {
      let four = key_quads(head, at, DIMS, lane);
      for (var e = 0u; e < EACH; e++) {
        let qs = q[q0[e] + at];
        s[e] = fma(vec4f(qs.w), four[3], fma(vec4f(qs.z), four[2], fma(vec4f(qs.y), four[1], fma(vec4f(qs.x), four[0], s[e]))));
      }
    }
    let of_keys = key_scales(head, lane, DIMS);
    let of_values = value_scales(head, lane, DIMS);
    let tokens = vec4u(page * 32u + lane * 4u) + vec4u(0u, 1u, 2u, 3u);
    for (var e = 0u; e < EACH; e++) {
      let is_seen = are_seen(tile, tile.first_row + position[e] - tile.start, position[e], tokens);
      let scores = select(vec4f(MASKED), scored(s[e] * of_keys, kv_head, position[e], tokens), is_seen);
      let now = max(largest[e], largest_of_lanes(max(max(scores.x, scores.y), max(scores.z, scores.w))));
      let share_kept = exp(largest[e] - now);
      let weight = select(vec4f(0.0), exp(scores - now), is_seen);
      total[e] = fma(total[e], share_kept, (weight.x + weight.y) + (weight.z + weight.w));
      largest[e] = now;
      weights[(team * EACH + e) * 8u + lane] = weight * of_values;
      if (lane == 0u) {
        kept[team * EACH + e] = share_kept;
      }
    }
    workgroupBarrier();

    if (walker < WALKERS) {
      for (var o = 0u; o < OUT; o++) {
        out[o] *= kept[min(o * WALKERS + walker, QUERIES - 1u)];
      }
      for (var four = 0u; four < 8u; four++) {
        let v = value_fours(head, four, quad, value_stride(DIMS, VALUE_DIMS));
        for (var o = 0u; o < OUT; o++) {
          let weight = weights[min(o * WALKERS + walker, QUERIES - 1u) * 8u + four];
          out[o] = fma(vec4f(weight.w), v[3], fma(vec4f(weight.z), v[2], fma(vec4f(weight.y), v[1], fma(vec4f(weight.x), v[0], out[o]))));
        }
      }
    }
    workgroupBarrier();
  }

  let waits = is_left(segment, last_page);
  for (var e = 0u; e < EACH; e++) {
    let query = first + team * EACH + e;
    if (waits && query < queries) {
      hold_state(tile.first_row + query / share, kv_head * share + query % share, lane, vec2f(largest[e], total[e]));
    }
    let sum = sum_of_lanes(total[e]);
    if (lane == 0u) {
      states[team * EACH + e] = vec2f(largest[e], sum);
    }
  }
  workgroupBarrier();
  if (walker < WALKERS) {
    for (var o = 0u; o < OUT; o++) {
      let mine = o * WALKERS + walker;
      let query = first + mine;
      if (mine < QUERIES && query < queries) {
        let state = states[mine];
        let head = kv_head * share + query % share;
        let at = (tile.first_row + query / share) * args.y_quads + head * VALUE_QUADS + quad;
        y[at] = out[o] / select(total_of(Met(state.x, state.y), head), 1.0, waits);
      }
    }
  }

  if (kv_head + 1u == args.kv_heads) { // the last head also writes the padding after its rows' columns
    for (var query = first; query <= last; query++) {
      clear_padding(tile.first_row + query / share, VALUE_QUADS, local, LANES);
    }
  }
}
