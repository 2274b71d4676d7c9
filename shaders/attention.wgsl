// Paged attention over tiles of mixed prefill and decode rows, with online softmax, without barriers and shared memory. A workgroup
// is eight lanes: one tile and key head, and LANES · TILES of the tile's queries (rows × query heads of that key head). For the
// scores a lane holds four tokens of a page, for the values four dimensions. Each query visits the pages in order, and pages that
// are masked for it change nothing, so its result does not depend on the other queries. If a context is long and there are few
// queries, each workgroup computes one chunk of it.
enable subgroups;
#import "lib/row-padding.wgsl"
#import "lib/rows.$LANES.wgsl"
#import "lib/attention-args.wgsl"
#import "lib/attention-inputs.wgsl"
#import "lib/batch.wgsl"
#import "lib/cap.$CAP.wgsl"
#import "lib/chunk-merge.wgsl"
#import "lib/chunks.$CHUNKS.wgsl"
#import "lib/lanes.wgsl"
#import "lib/rolled.wgsl"
#import "lib/seen-tokens.wgsl"
#import "lib/sinks.$SINKS.wgsl"
#import "kv/read.$KV.wgsl"

const TILES = 2u;
const PASSES = 2u;       // groups of 32 dimensions of a value

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32, lanes: Lanes) {
  let tile = tiles[args.first_tile + workgroup.x];
  let kv_head = workgroup.y % args.kv_heads;
  let share = args.heads / args.kv_heads;
  let queries = tile.rows * share;
  let first = workgroup.z * LANES * TILES;
  if (first >= queries) {
    return;
  }

  let start = tile.start;
  // Index of this lane's queries in q, and the position of each query of the workgroup in its sequence.
  var q0: array<u32, TILES>;
  var position: array<array<u32, LANES>, TILES>;
  var met: array<array<Met, LANES>, TILES>; // state after the preceding chunks
  for (var t = 0u; t < TILES; t++) {
    let mine = min(first + t * LANES + lane_row(lanes), queries - 1u);
    q0[t] = (tile.first_row + mine / share) * args.q_quads + (kv_head * share + mine % share) * args.dims / 4u;
    for (var i = 0u; i < LANES; i++) {
      let query = min(first + t * LANES + i, queries - 1u);
      position[t][i] = start + query / share;
      met[t][i] = Met(MASKED, 0.0);
    }
  }
  let last_query = min(first + LANES * TILES, queries) - 1u;
  let seen = vec2u(first_page_of(tile, start + first / share), last_page_of(tile, start + last_query / share));
  let chunks = vec2u(first_page_of(tile, start), last_page_of(tile, start + tile.rows - 1u)) / CHUNK;
  let range = pages_of(chunks, seen, workgroup.y / args.kv_heads);

  for (var first_page = range.x; first_page <= range.y; first_page = (first_page / CHUNK + 1u) * CHUNK) {
    let last_page = min(range.y, (first_page / CHUNK + 1u) * CHUNK - 1u);
    var largest: array<array<f32, LANES>, TILES>;
    var total = array<array<f32, LANES>, TILES>();
    var out = array<array<array<vec4f, LANES>, TILES>, PASSES>();
    for (var t = 0u; t < TILES; t++) {
      for (var i = 0u; i < LANES; i++) {
        largest[t][i] = MASKED;
      }
    }

    for (var p = first_page; p <= last_page; p++) {
      if (!any_chosen(tile.first_row + first / share, tile.first_row + last_query / share, p, p)) {
        continue;
      }
      let head = pages[tile.pages + p] * args.kv_heads + kv_head;
      var s = array<array<vec4f, LANES>, TILES>();
      for (var d = 0u; d < args.dims; d += 4u) {
        let four = key_quads(head, d / 4u, args.dims, lane);
        for (var t = 0u; t < TILES; t++) {
          let qs = q[q0[t] + d / 4u];
          fold(&s, t, qs.x, four[0]);
          fold(&s, t, qs.y, four[1]);
          fold(&s, t, qs.z, four[2]);
          fold(&s, t, qs.w, four[3]);
        }
      }

      let tokens = vec4u(p * 32u + lane * 4u) + vec4u(0u, 1u, 2u, 3u);
      let of_keys = key_scales(head, lane, args.dims);
      let of_values = value_scales(head, lane, args.dims);
      for (var t = 0u; t < TILES; t++) {
        for (var i = 0u; i < LANES; i++) {
          let at = position[t][i];
          let is_seen = are_seen(tile, tile.first_row + at - start, at, tokens);
          let scores = select(vec4f(MASKED), scored(s[t][i] * of_keys, kv_head, at, tokens), is_seen);
          let best = max(max(scores.x, scores.y), max(scores.z, scores.w));
          let now = max(largest[t][i], largest_of_lanes(best));
          let share_kept = exp(largest[t][i] - now);
          let weights = select(vec4f(0.0), exp(scores - now), is_seen);
          total[t][i] = fma(total[t][i], share_kept, (weights.x + weights.y) + (weights.z + weights.w));
          largest[t][i] = now;
          s[t][i] = weights * of_values;
          for (var part = 0u; part < PASSES; part++) {
            out[part][t][i] *= share_kept;
          }
        }
      }

      for (var j = loop_start(workgroup.x); j < 8u; j++) {
        for (var u = 0u; u < 4u; u += 2u) {
          var v: array<array<vec4f, 2>, PASSES>;
          for (var part = 0u; part < PASSES; part++) {
            let quad = min(part * 8u + lane, args.value_dims / 4u - 1u);
            v[part] = value_quads(head, j * 2u + u / 2u, quad, args.dims);
          }
          for (var t = 0u; t < TILES; t++) {
            for (var i = 0u; i < LANES; i++) {
              let one = vec4f(subgroupShuffle(s[t][i][u], j));
              let other = vec4f(subgroupShuffle(s[t][i][u + 1u], j));
              for (var part = 0u; part < PASSES; part++) {
                out[part][t][i] = fma(other, v[part][1], fma(one, v[part][0], out[part][t][i]));
              }
            }
          }
        }
      }
    }

    // Through copies in memory, by a loop that drivers do not unroll; the loops above keep their arrays in registers.
    var highest = largest;
    var totals = total;
    var outs = out;
    for (var query = first; query <= last_query; query++) {
      let t = (query - first) / LANES;
      let i = (query - first) % LANES;
      let chunk = Met(highest[t][i], sum_of_lanes(totals[t][i]));
      let merged = merge(met[t][i], chunk);
      met[t][i] = merged.met;
      let row = tile.first_row + query / share;
      let head = kv_head * share + query % share;
      let at = row * args.y_quads + head * args.value_dims / 4u;
      for (var part = 0u; part < PASSES; part++) {
        let quad = part * 8u + lane;
        if (quad >= args.value_dims / 4u) {
          continue;
        }
        if (is_apart(chunks)) {
          keep(first_page / CHUNK - chunks.x, row, head, chunk, quad, outs[part][t][i]);
          continue;
        }
        var value = outs[part][t][i] * merged.chunk;
        if (first_page > range.x) {
          value = fma(y[at + quad], vec4f(merged.before), value);
        }
        y[at + quad] = select(value, value / total_of(merged.met, head), last_page == range.y);
      }
    }
  }

  if (kv_head + 1u == args.kv_heads) { // the last head also writes the padding after its rows' columns
    for (var query = first; query <= last_query; query++) {
      clear_padding(tile.first_row + query / share, args.value_dims / 4u, lane, 8u);
    }
  }
}
