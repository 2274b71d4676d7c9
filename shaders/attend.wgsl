// Dense attention, online softmax, no barrier and no shared memory. Eight lanes take 8 · TILES queries of one head: a lane holds
// four of 32 keys for the scores, for the values QUADS times four d's and then SINGLES times one. Each query meets the keys in
// order, and keys that are masked for it change nothing, so its result does not depend on its companions.
enable subgroups;
#import "lib/attend-args.wgsl"
#import "lib/keys.$KEYS.wgsl"
#import "lib/eight.wgsl"

const TEAMS = 1u;    // of eight lanes in a workgroup
const TILES = 2u;
const QUADS = 1u;    // of 32 d's each
const SINGLES = 1u;  // of 8 d's each
const MASKED = -1e30;
const QUERIES = 8u * TILES;
const HELD = 4u * QUADS + SINGLES; // d's of a query that a lane makes

// Lengths of arrays must not be zero.
const QUADS_HELD = max(QUADS, 1u);
const SINGLES_HELD = max(SINGLES, 1u);

@compute @workgroup_size(8u * TEAMS)
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(local_invocation_index) local: u32,
  @builtin(subgroup_invocation_id) subgroup_lane: u32,
) {
  let lane = local % 8u;
  first_lane = subgroup_lane - lane;
  let first = (workgroup.x * TEAMS + local / 8u) * QUERIES; // may lie behind the last one
  let head_quads = args.dims / 4u;
  let head = workgroup.y / args.parts;
  let first_quad = workgroup.y % args.parts * 8u * QUADS;
  let item = workgroup.z;
  let count = keys_of(item);
  // The same for all teams, so that their subgroup stays together.
  let seen_keys = select(count, min(count, (workgroup.x + 1u) * TEAMS * QUERIES), args.causal != 0u);
  let k0 = item * args.keys * args.k_quads + args.k_first + head / args.share * head_quads;
  let v0 = item * args.keys * args.v_quads + args.v_first + head / args.share * head_quads + first_quad;

  var q0: array<u32, TILES>;
  for (var t = 0u; t < TILES; t++) {
    let row = item * args.queries + min(first + t * 8u + lane, args.queries - 1u);
    q0[t] = row * args.q_quads + args.q_first + head * head_quads;
  }
  var largest: array<f32, TILES>; // of the lane's query
  var total: array<f32, TILES>;
  var out: array<array<array<vec4f, 8>, TILES>, QUADS_HELD>;
  var out_single: array<array<array<f32, 8>, TILES>, SINGLES_HELD>;
  for (var t = 0u; t < TILES; t++) {
    largest[t] = MASKED;
  }

  for (var first_key = 0u; first_key < seen_keys; first_key += 32u) {
    let keys = vec4u(first_key + lane * 4u) + vec4u(0u, 1u, 2u, 3u);
    let at = k0 + min(keys, vec4u(count - 1u)) * args.k_quads;
    var s = array<array<vec4f, 8>, TILES>();
    for (var d = 0u; d < head_quads; d++) {
      let a = k[at.x + d];
      let b = k[at.y + d];
      let c = k[at.z + d];
      let e = k[at.w + d];
      let turned = array<vec4f, 4>(
        vec4f(a.x, b.x, c.x, e.x),
        vec4f(a.y, b.y, c.y, e.y),
        vec4f(a.z, b.z, c.z, e.z),
        vec4f(a.w, b.w, c.w, e.w),
      );
      for (var t = 0u; t < TILES; t++) {
        fold_eight(&s[t], q[q0[t] + d] * args.scale, turned);
      }
    }
    if (first_key + 32u > select(count, min(count, first + 1u), args.causal != 0u)) {
      for (var t = 0u; t < TILES; t++) {
        for (var i = 0u; i < 8u; i++) {
          let limit = select(count, min(count, first + t * 8u + i + 1u), args.causal != 0u);
          s[t][i] = select(vec4f(MASKED), s[t][i], keys < vec4u(limit));
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
          out[part][t][i] *= kept_of;
        }
        for (var part = 0u; part < SINGLES; part++) {
          out_single[part][t][i] *= kept_of;
        }
      }
      total[t] = fma(total[t], kept, sum_by_lane(each, lane));
    }

    let fours = (min(32u, seen_keys - first_key) + 3u) / 4u; // a bound that drivers leave rolled, too
    for (var j = 0u; j < fours; j++) {
      for (var u = 0u; u < 4u; u++) {
        let value = v0 + min(first_key + j * 4u + u, count - 1u) * args.v_quads;
        var quads: array<vec4f, QUADS_HELD>;
        for (var part = 0u; part < QUADS; part++) {
          quads[part] = v[value + min(part * 8u + lane, head_quads - 1u)];
        }
        var singles: array<f32, SINGLES_HELD>;
        for (var part = 0u; part < SINGLES; part++) {
          singles[part] = v[value + QUADS * 8u + part * 2u + lane / 4u][lane % 4u];
        }
        for (var t = 0u; t < TILES; t++) {
          for (var i = 0u; i < 8u; i++) {
            let weight = subgroupShuffle(s[t][i][u], lane_at(j));
            for (var part = 0u; part < QUADS; part++) {
              out[part][t][i] = fma(vec4f(weight), quads[part], out[part][t][i]);
            }
            for (var part = 0u; part < SINGLES; part++) {
              out_single[part][t][i] = fma(weight, singles[part], out_single[part][t][i]);
            }
          }
        }
      }
    }
  }

  // In memory, so that one store serves all.
  var made: array<f32, QUERIES * HELD>;
  for (var t = 0u; t < TILES; t++) {
    let rate = 1.0 / max(total[t], 1e-30);
    for (var i = 0u; i < 8u; i++) {
      let rate_of = subgroupShuffle(rate, lane_at(i));
      for (var part = 0u; part < QUADS; part++) {
        for (var u = 0u; u < 4u; u++) {
          made[(t * 8u + i) * HELD + part * 4u + u] = out[part][t][i][u] * rate_of;
        }
      }
      for (var part = 0u; part < SINGLES; part++) {
        made[(t * 8u + i) * HELD + QUADS * 4u + part] = out_single[part][t][i] * rate_of;
      }
    }
  }
  for (var query = first; query < min(first + QUERIES, args.queries); query++) {
    let y0 = (item * args.queries + query) * args.y_quads * 4u;
    for (var i = 0u; i < HELD; i++) {
      let single = QUADS * 32u + (i - QUADS * 4u) * 8u + lane;
      let d = first_quad * 4u + select(single, i / 4u * 32u + lane * 4u + i % 4u, i < QUADS * 4u);
      if (d < args.dims) {
        y[y0 + head * args.dims + d] = made[(query - first) * HELD + i];
      }
    }
    if (head + 1u == args.heads && first_quad == 0u) { // whose rows' padding follows its columns
      for (var column = args.heads * args.dims + lane; column < args.y_quads * 4u; column += 8u) {
        y[y0 + column] = 0.0;
      }
    }
  }
}
