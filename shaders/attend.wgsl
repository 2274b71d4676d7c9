// Dense attention, online softmax, no barrier and no shared memory. A workgroup is eight lanes: 8 · TILES queries of one head.
// A lane holds four of 32 keys for the scores, for the values QUADS times four d's and then SINGLES times one. Each query meets
// the keys in order, and keys that are masked for it change nothing, so its result does not depend on its companions.
enable subgroups;
#import "lib/attend-args.wgsl"
#import "lib/keys.$KEYS.wgsl"
#import "lib/rows.8.wgsl"
#import "lib/agree-eight.wgsl"

const TILES = 2u;
const QUADS = 1u;    // of 32 d's each
const SINGLES = 1u;  // of 8 d's each
const MASKED = -1e30;

// Constants of arrays must not be zero.
const QUADS_HELD = max(QUADS, 1u);
const SINGLES_HELD = max(SINGLES, 1u);

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32, lanes: Lanes) {
  let first = workgroup.x * 8u * TILES;
  let parts = args.dims / (32u * QUADS + 8u * SINGLES); // workgroups that share out a large head's d's
  let head = workgroup.y / max(parts, 1u);
  let first_quad = workgroup.y % max(parts, 1u) * 8u * QUADS;
  let item = workgroup.z;
  let count = keys_of(item);
  let row0 = item * args.queries;
  let last = min(first + 8u * TILES, args.queries) - 1u;
  let seen_keys = select(count, min(count, last + 1u), args.causal != 0u);
  let k0 = item * args.keys * args.k_quads + args.k_first + head / args.share * (args.dims / 4u);
  let v0 = item * args.keys * args.v_quads + args.v_first + head / args.share * (args.dims / 4u) + first_quad;

  var q0: array<u32, TILES>;
  for (var t = 0u; t < TILES; t++) {
    let query = min(first + t * 8u + lane_row(lanes), last);
    q0[t] = (row0 + query) * args.q_quads + args.q_first + head * (args.dims / 4u);
  }
  var largest: array<array<f32, 8>, TILES>;
  var total: array<array<f32, 8>, TILES>;
  var out: array<array<array<vec4f, 8>, TILES>, QUADS_HELD>;
  var out_single: array<array<array<f32, 8>, TILES>, SINGLES_HELD>;
  for (var t = 0u; t < TILES; t++) {
    for (var i = 0u; i < 8u; i++) {
      largest[t][i] = MASKED;
    }
  }

  for (var first_key = 0u; first_key < seen_keys; first_key += 32u) {
    let keys = vec4u(first_key + lane * 4u) + vec4u(0u, 1u, 2u, 3u);
    let at = k0 + min(keys, vec4u(count - 1u)) * args.k_quads;
    var s = array<array<vec4f, 8>, TILES>();
    for (var d = 0u; d < args.dims / 4u; d++) {
      let a = k[at.x + d];
      let b = k[at.y + d];
      let c = k[at.z + d];
      let e = k[at.w + d];
      for (var t = 0u; t < TILES; t++) {
        let qs = q[q0[t] + d] * args.scale;
        fold(&s[t], qs.x, vec4f(a.x, b.x, c.x, e.x));
        fold(&s[t], qs.y, vec4f(a.y, b.y, c.y, e.y));
        fold(&s[t], qs.z, vec4f(a.z, b.z, c.z, e.z));
        fold(&s[t], qs.w, vec4f(a.w, b.w, c.w, e.w));
      }
    }

    for (var t = 0u; t < TILES; t++) {
      for (var i = 0u; i < 8u; i++) {
        let limit = select(count, min(count, first + t * 8u + i + 1u), args.causal != 0u);
        let seen = keys < vec4u(limit);
        let scores = select(vec4f(MASKED), s[t][i], seen);
        let best = max(max(scores.x, scores.y), max(scores.z, scores.w));
        let now = max(largest[t][i], largest_of_eight(best));
        let kept = exp(largest[t][i] - now);
        let weights = select(vec4f(0.0), exp(scores - now), seen);
        total[t][i] = fma(total[t][i], kept, (weights.x + weights.y) + (weights.z + weights.w));
        largest[t][i] = now;
        s[t][i] = weights;
        for (var part = 0u; part < QUADS; part++) {
          out[part][t][i] *= kept;
        }
        for (var part = 0u; part < SINGLES; part++) {
          out_single[part][t][i] *= kept;
        }
      }
    }

    for (var j = 0u; j < 8u; j++) {
      for (var u = 0u; u < 4u; u++) {
        let value = v0 + min(first_key + j * 4u + u, count - 1u) * args.v_quads;
        var quads: array<vec4f, QUADS_HELD>;
        for (var part = 0u; part < QUADS; part++) {
          quads[part] = v[value + min(part * 8u + lane, args.dims / 4u - 1u)];
        }
        var singles: array<f32, SINGLES_HELD>;
        for (var part = 0u; part < SINGLES; part++) {
          singles[part] = v[value + QUADS * 8u + part * 2u + lane / 4u][lane % 4u];
        }
        for (var t = 0u; t < TILES; t++) {
          for (var i = 0u; i < 8u; i++) {
            let weight = subgroupShuffle(s[t][i][u], j);
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

  for (var t = 0u; t < TILES; t++) {
    for (var i = 0u; i < 8u; i++) {
      let rate = 1.0 / max(sum_of_eight(total[t][i]), 1e-30);
      let query = first + t * 8u + i;
      if (query <= last) {
        let y0 = (row0 + query) * args.y_quads + head * (args.dims / 4u) + first_quad;
        for (var part = 0u; part < QUADS; part++) {
          let quad = part * 8u + lane;
          if (first_quad + quad < args.dims / 4u) {
            y[y0 + quad] = out[part][t][i] * rate;
          }
        }
        for (var part = 0u; part < SINGLES; part++) {
          y[y0 + QUADS * 8u + part * 2u + lane / 4u][lane % 4u] = out_single[part][t][i] * rate;
        }
      }
    }
  }

  if (head + 1u == args.heads && first_quad == 0u) { // whose rows' padding follows its columns
    for (var query = first; query <= last; query++) {
      let y0 = (row0 + query) * args.y_quads;
      for (var quad = args.heads * args.dims / 4u + lane; quad < args.y_quads; quad += 8u) {
        y[y0 + quad] = vec4f(0.0);
      }
    }
  }
}
