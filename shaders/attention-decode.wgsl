// Paged attention of decode rows on GPUs; each tile has one row. A workgroup computes one chunk of the context for one row, one key head and up
// to QUERIES of the key head's queries, in rounds of four pages. All sums have an order that follows from the row's position.
#import "lib/attention-args.wgsl"
#import "lib/attention-inputs.wgsl"
#import "lib/batch.wgsl"
#import "lib/cap.$CAP.wgsl"
#import "lib/decode-round.wgsl"
#import "lib/own-chunks.wgsl"
#import "lib/rolled.wgsl"
#import "lib/row-padding.wgsl"
#import "lib/seen-tokens.wgsl"
#import "lib/sinks.$SINKS.wgsl"
#import "kv/read.$KV.wgsl"

const DIMS = 128u;
const VALUE_DIMS = 128u; // of the dimensions, or as many
const QUERIES = 8u;     // 1, 2, 4 or 8
const FILLS_REGISTERS = true;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let tile = tiles[args.first_tile + workgroup.x];
  let kv_head = workgroup.y % args.kv_heads;
  let share = args.heads / args.kv_heads;
  let first_query = workgroup.z * QUERIES;
  let position = tile.start;
  let chunks = chunks_of(tile, position);
  let chunk = chunks.first + workgroup.y / args.kv_heads;
  if (chunk > chunks.last) {
    return;
  }
  let y0 = tile.first_row * args.y_quads;
  let q0 = tile.first_row * args.q_quads + kv_head * share * QUADS;
  let first_page = max(first_page_of(tile, position), chunk * chunks.pages);
  let last_page = min(last_page_of(tile, position), chunk * chunks.pages + chunks.pages - 1u);

  let token_lane = local % 8u;
  let part = local / 8u % PARTS;
  let round_page = local / 8u / PARTS;
  let sharer = local % SHARERS;
  let shared_query = local / SHARERS; // of the softmax; beyond QUERIES: none
  let quad = local % VALUE_QUADS;
  let walker = local / VALUE_QUADS;         // beyond WALKERS: none

  var largest = MASKED;
  var total = 0.0;
  var out: array<vec4f, QUERIES>;
  for (var page = first_page; page <= last_page; page += PAGES) {
    if (!any_chosen(tile.first_row, tile.first_row, page, min(page + PAGES - 1u, last_page))) {
      continue;
    }
    var s = array<vec4f, QUERIES>();
    let key_head = pages[tile.pages + min(page + round_page, last_page)] * args.kv_heads + kv_head;
    for (var turn = 0u; turn < PART_TURNS; turn++) {
      let at = turn * PARTS + part;
      if (QUADS % PARTS == 0u || at < QUADS) {
        let four = key_quads(key_head, at, DIMS, token_lane);
        for (var i = 0u; i < QUERIES; i++) {
          let qs = q[q0 + min(first_query + i, share - 1u) * QUADS + at];
          s[i] = fma(vec4f(qs.w), four[3], fma(vec4f(qs.z), four[2], fma(vec4f(qs.y), four[1], fma(vec4f(qs.x), four[0], s[i]))));
        }
      }
    }
    let of_keys = key_scales(key_head, token_lane, DIMS);
    let tokens = vec4u((page + round_page) * 32u + token_lane * 4u) + vec4u(0u, 1u, 2u, 3u);
    let is_seen = are_seen(tile, tile.first_row, position, tokens) & (tokens < vec4u(last_page * 32u + 32u));
    for (var turn = loop_start(workgroup.x); turn < PARTS; turn++) {
      if (part == turn) {
        for (var i = 0u; i < QUERIES; i++) {
          let at = i * TOKEN_QUADS + round_page * 8u + token_lane;
          var sum = s[i];
          if (turn > 0u) {
            sum += scores[at];
          }
          if (turn == PARTS - 1u) {
            sum = select(vec4f(MASKED), scored(sum * of_keys, kv_head, position, tokens), is_seen);
          }
          scores[at] = sum;
        }
      }
      workgroupBarrier();
    }

    if (shared_query < QUERIES) {
      partial[local] = best_of_share(shared_query, sharer);
    }
    workgroupBarrier();
    if (shared_query < QUERIES) {
      var now = largest;
      for (var i = 0u; i < SHARERS; i++) {
        now = max(now, partial[shared_query * SHARERS + i]);
      }
      let share_kept = exp(largest - now);
      total *= share_kept;
      for (var at = sharer; at < TOKEN_QUADS; at += SHARERS) {
        let four = scores[shared_query * TOKEN_QUADS + at];
        let weights = select(vec4f(0.0), exp(four - now), four > vec4f(MASKED));
        total += (weights.x + weights.y) + (weights.z + weights.w);
        scores[shared_query * TOKEN_QUADS + at] = weights;
      }
      largest = now;
      if (sharer == 0u) {
        kept[shared_query] = share_kept;
      }
    }
    workgroupBarrier();

    if (walker < WALKERS) {
      for (var i = 0u; i < QUERIES; i++) {
        out[i] *= kept[i];
      }
      for (var turn = 0u; turn < VALUE_TURNS; turn++) {
        let four = turn * WALKERS + walker;
        if (TOKEN_QUADS % WALKERS == 0u || four < TOKEN_QUADS) {
          let head = pages[tile.pages + min(page + four / 8u, last_page)] * args.kv_heads + kv_head;
          let v = value_fours(head, four % 8u, quad, DIMS);
          let of_values = value_scales(head, four % 8u, DIMS);
          for (var i = 0u; i < QUERIES; i++) {
            let weights = scores[i * TOKEN_QUADS + four] * of_values;
            out[i] = fma(vec4f(weights.w), v[3], fma(vec4f(weights.z), v[2], fma(vec4f(weights.y), v[1], fma(vec4f(weights.x), v[0], out[i]))));
          }
        }
      }
    }
    workgroupBarrier();
  }

  partial[local] = total;
  if (sharer == 0u && shared_query < QUERIES) {
    largest_of[shared_query] = largest;
  }
  for (var i = loop_start(workgroup.x); i < QUERIES; i++) {
    workgroupBarrier();
    spread[local] = out[i];
    workgroupBarrier();
    if (walker == 0u && first_query + i < share) {
      var sum = 0.0;
      for (var k = 0u; k < SHARERS; k++) {
        sum += partial[i * SHARERS + k];
      }
      var value = spread[quad];
      for (var k = 1u; k < WALKERS; k++) {
        value += spread[k * VALUE_QUADS + quad];
      }
      let met = Met(largest_of[i], sum);
      let head = kv_head * share + first_query + i;
      if (chunks.first == chunks.last) {
        y[y0 + head * VALUE_QUADS + quad] = value / total_of(met, head);
      } else {
        let at = part_at(chunk - chunks.first, workgroup.x, head);
        parts[at] = vec4f(met.largest, met.sum, 0.0, 0.0);
        parts[at + 1u + quad] = value;
      }
    }
  }
  if (kv_head + 1u == args.kv_heads && chunk == chunks.last && workgroup.z == 0u) { // also writes the padding after the row's columns
    clear_padding(tile.first_row, VALUE_QUADS, local, LANES);
  }
}
