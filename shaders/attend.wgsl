// Dense attention with online softmax, without barriers and shared memory. Eight lanes compute 8 · TILES queries of one head: for
// the scores a lane holds four of 32 keys, for the values QUADS times four dimensions and then SINGLES times one. Each query visits
// the keys in order, and keys that are masked for it change nothing, so its result does not depend on the other queries of its
// tile.
enable subgroups;
#import "lib/attend-args.wgsl"
#import "lib/scores.$SCORES.wgsl"
#import "lib/carry.$CARRY.wgsl"
#import "lib/eight.wgsl"
#import "lib/queries.$QUERIES.wgsl"
#import "lib/sums.wgsl"
#import "lib/values.$VALUES.wgsl"

const TEAMS = 1u;    // teams of eight lanes in a workgroup
const TILES = 2u;
const QUADS = 1u;    // groups of 32 dimensions, four per lane
const SINGLES = 1u;  // groups of 8 dimensions, one per lane
const MASKED = -1e30;
const TASK_QUERIES = 8u * TILES;

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(8u * TEAMS)
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(local_invocation_index) local: u32,
  @builtin(subgroup_invocation_id) subgroup_lane: u32,
) {
  let lane = local % 8u;
  first_lane = subgroup_lane - lane;
  let first = (workgroup.x * TEAMS + local / 8u) * TASK_QUERIES; // may be beyond the last query
  let head_quads = args.dims / 4u;
  let head = workgroup.y / args.parts;
  let first_quad = workgroup.y % args.parts * 8u * QUADS;
  let item = workgroup.z;
  let count = count_of(item);
  // The same count for all teams, so that their subgroup stays in uniform control flow.
  let seen_keys = seen_of(count, (workgroup.x + 1u) * TEAMS * TASK_QUERIES - 1u);
  let row0 = args.q_row + item * args.queries;
  let k0 = (args.k_row + item * args.keys) * args.k_quads + args.k_first + head / args.share * head_quads;
  let v0 = (args.v_row + item * args.keys) * args.v_quads + args.v_first + head / args.share * head_quads + first_quad;
  let y0 = (args.y_row + item * args.queries) * args.y_quads * 4u + head * args.dims + first_quad * 4u;

  var q0: array<u32, TILES>;
  for (var t = 0u; t < TILES; t++) {
    let query = min(first + t * 8u + lane, args.queries - 1u);
    q0[t] = (row0 + query) * args.q_quads + args.q_first + head * head_quads;
  }
  var queries: Queries;
  fetch_queries(q0, &queries);
  var largest: array<f32, TILES>; // largest score of the lane's query so far
  var total: array<f32, TILES>;
  var sums: Sums;
  for (var t = 0u; t < TILES; t++) {
    largest[t] = MASKED;
  }
  var made: Made;
  if (CONTINUES) {
    for (var query = first; query < min(first + TASK_QUERIES, args.queries); query++) {
      for (var i = 0u; i < HELD; i++) {
        made[(query - first) * HELD + i] = y[y0 + query * args.y_quads * 4u + min(d_of(i, lane), args.dims - 1u)];
      }
    }
    for (var t = 0u; t < TILES; t++) {
      let state = carried(min(first + t * 8u + lane, args.queries - 1u), workgroup.y);
      largest[t] = state.x;
      total[t] = state.y;
      for (var i = 0u; i < 8u; i++) {
        from_memory(&made, t, i, &sums);
      }
    }
  }

  for (var first_key = 0u; first_key < seen_keys; first_key += 32u) {
    let keys = vec4u(first_key + lane * 4u) + vec4u(0u, 1u, 2u, 3u);
    let at = k0 + min(keys, vec4u(count - 1u)) * args.k_quads;
    var s = array<array<vec4f, 8>, TILES>();
    for (var d = 0u; d < head_quads; d++) {
      let by_d = transpose(mat4x4f(k[at.x + d], k[at.y + d], k[at.z + d], k[at.w + d]));
      for (var t = 0u; t < TILES; t++) {
        fold_eight(&s, t, query_quad(&queries, t, d), by_d);
      }
    }
    if (BIASED) {
      let of_four = min(keys, vec4u(count - 1u));
      for (var t = 0u; t < TILES; t++) {
        for (var i = 0u; i < 8u; i++) {
          let query = min(first + t * 8u + i, args.queries - 1u);
          for (var u = 0u; u < 4u; u++) {
            s[t][i][u] += bias_of(item, head, query, of_four[u]);
          }
        }
      }
    }
    if (first_key + 32u > seen_of(count, first)) {
      for (var t = 0u; t < TILES; t++) {
        for (var i = 0u; i < 8u; i++) {
          s[t][i] = select(vec4f(MASKED), s[t][i], keys < vec4u(seen_of(count, first + t * 8u + i)));
        }
      }
    }

    for (var t = 0u; t < TILES; t++) {
      var each: array<f32, 8>;
      for (var i = 0u; i < 8u; i++) {
        each[i] = max(max(s[t][i].x, s[t][i].y), max(s[t][i].z, s[t][i].w));
      }
      let now = max(largest[t], largest_by_lane(each, lane));
      let kept = exp2(largest[t] - now);
      largest[t] = now;
      for (var i = 0u; i < 8u; i++) {
        s[t][i] = exp2(s[t][i] - subgroupShuffle(now, lane_at(i)));
        each[i] = (s[t][i].x + s[t][i].y) + (s[t][i].z + s[t][i].w);
        let kept_of = subgroupShuffle(kept, lane_at(i));
        for (var part = 0u; part < QUADS; part++) {
          sums.quads[part][t][i] *= kept_of;
        }
        for (var part = 0u; part < SINGLES; part++) {
          sums.singles[part][t][i] *= kept_of;
        }
      }
      total[t] = fma(total[t], kept, sum_by_lane(each, lane));
    }

    let fours = (min(32u, seen_keys - first_key) + 3u) / 4u; // a run-time bound, because drivers unroll loops with constant bounds
    for (var j = 0u; j < fours; j++) {
      let of_four = min(vec4u(first_key + j * 4u) + vec4u(0u, 1u, 2u, 3u), vec4u(count - 1u));
      add_values(v0 + of_four * args.v_quads, j, lane, &s, &sums);
    }
  }

  for (var t = 0u; t < TILES; t++) {
    let rate = select(1.0, 1.0 / max(total[t], 1e-30), ENDS);
    if (!ENDS && first + t * 8u + lane < args.queries) {
      carry(first + t * 8u + lane, workgroup.y, largest[t], total[t]);
    }
    for (var i = 0u; i < 8u; i++) {
      to_memory(&sums, t, i, subgroupShuffle(rate, lane_at(i)), &made);
    }
  }
  for (var query = first; query < min(first + TASK_QUERIES, args.queries); query++) {
    for (var i = 0u; i < HELD; i++) {
      let d = d_of(i, lane);
      if (first_quad * 4u + d < args.dims) {
        y[y0 + query * args.y_quads * 4u + d] = made[(query - first) * HELD + i];
      }
    }
    if (head + 1u == args.heads && first_quad == 0u) { // the last head also writes the padding after its rows' columns
      for (var d = args.dims + lane; head * args.dims + d < args.y_quads * 4u; d += 8u) {
        y[y0 + query * args.y_quads * 4u + d] = 0.0;
      }
    }
  }
}
