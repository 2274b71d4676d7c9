// Dense attention with online softmax on GPUs. A workgroup computes QUERIES queries of one head, GROUP keys at a time: a lane holds the scores of
// 4 · QUERY_QUADS queries with four keys, then the sums of those queries in OUT_QUADS quads of dimensions. Each query visits the keys in order and
// in the same groups, and keys that are masked for it change nothing, so its result does not depend on the other queries of its tile, nor on
// their number.
#import "lib/attend-args.wgsl"
#import "lib/attend-tile.wgsl"
#import "lib/attend-dots.$DOTS.wgsl"
#import "lib/attend-values.wgsl"
#import "lib/blocks.$BLOCKS.wgsl"
#import "lib/rolled.wgsl"
#import "lib/scores.$SCORES.wgsl"
#import "lib/carry.$CARRY.wgsl"

const FILLS_REGISTERS = true;
const UNSEEN = 2.0 * MASKED; // exp2(UNSEEN − MASKED) is zero

@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;

var<workgroup> factors: array<f32, QUERIES>; // on a query's earlier sums

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let first = workgroup.x * QUERIES;
  let head = workgroup.y;
  let item = workgroup.z;
  let row_lane = local / COLUMN_LANES;
  let column_lane = local % COLUMN_LANES;
  let count = count_of(item);
  let seen_keys = seen_of(count, min(first + QUERIES, args.queries) - 1u);
  let head_quads = args.dims / 4u;
  let rows = Rows(
    (args.q_row + item * args.queries) * args.q_quads + args.q_first + head * operand_quads(),
    (args.k_row + item * args.keys) * args.k_quads + args.k_first + head / args.share * operand_quads(),
    (args.v_row + item * args.keys) * args.v_quads + args.v_first + head / args.share * head_quads,
    first,
    max(count, 1u) - 1u,
  );
  let y0 = (args.y_row + item * args.queries) * args.y_quads + head * head_quads;

  var out: Out;
  var total: array<vec4f, QUERY_QUADS>; // of the lane's own keys
  var largest = MASKED;                 // score of query `local`
  if (CONTINUES) {
    largest = carried(min(first + local, args.queries - 1u), head).x;
    for (var i = 0u; i < 4u * QUERY_QUADS; i++) {
      let query = min(first + query_of(i, row_lane), args.queries - 1u);
      if (column_lane == 0u) {
        total[i / 4u][i % 4u] = carried(query, head).y;
      }
      for (var o = 0u; o < OUT_QUADS; o++) {
        let quad = min(o * COLUMN_LANES + column_lane, head_quads - 1u);
        out[i * OUT_QUADS + o] = y[y0 + query * args.y_quads + quad];
      }
    }
  }

  for (var first_key = 0u; first_key < seen_keys; first_key += GROUP) {
    if (!sees_group(item, head, first, first_key)) {
      continue;
    }
    var s = scores_of(rows, first_key, local, row_lane, column_lane);
    let partly = first_key + GROUP > seen_of(count, first) || divides_blocks();
    if (BIASED || partly) {
      for (var i = 0u; i < 4u * QUERY_QUADS; i++) {
        let query = min(first + query_of(i, row_lane), args.queries - 1u);
        for (var j = 0u; j < 4u; j++) {
          let key = first_key + j * COLUMN_LANES + column_lane;
          if (BIASED) {
            s[i / 4u * 4u + j][i % 4u] += bias_of(item, head, query, min(key, rows.last_key));
          }
          if (key >= seen_of(count, query) || !sees_key(item, head, query, key)) {
            s[i / 4u * 4u + j][i % 4u] = UNSEEN;
          }
        }
      }
    }

    for (var h = 0u; h < QUERY_QUADS; h++) {
      share_partial(max(max(s[h * 4u], s[h * 4u + 1u]), max(s[h * 4u + 2u], s[h * 4u + 3u])), h, row_lane, column_lane);
    }
    workgroupBarrier();
    if (local < QUERIES) {
      var now = largest;
      for (var i = 0u; i < COLUMN_LANES; i++) {
        now = max(now, partial(i, local));
      }
      largest_scores[local] = now;
      factors[local] = exp2(largest - now);
      largest = now;
    }
    workgroupBarrier();

    for (var h = 0u; h < QUERY_QUADS; h++) {
      let now = four_largest(h, row_lane);
      for (var j = 0u; j < 4u; j++) {
        s[h * 4u + j] = exp2(s[h * 4u + j] - now);
      }
      let sum = (s[h * 4u] + s[h * 4u + 1u]) + (s[h * 4u + 2u] + s[h * 4u + 3u]);
      total[h] = fma(total[h], four_factors(h, row_lane), sum);
    }
    for (var i = 0u; i < 4u * QUERY_QUADS; i++) {
      let factor = factors[query_of(i, row_lane)];
      for (var o = 0u; o < OUT_QUADS; o++) {
        out[i * OUT_QUADS + o] *= factor;
      }
    }
    add_values(rows, first_key, min(GROUP, seen_keys - first_key), local, row_lane, column_lane, &s, &out);
  }

  for (var h = 0u; h < QUERY_QUADS; h++) {
    share_partial(total[h], h, row_lane, column_lane);
  }
  workgroupBarrier();
  if (local < QUERIES) {
    var sum = 0.0;
    for (var i = 0u; i < COLUMN_LANES; i++) {
      sum += partial(i, local);
    }
    factors[local] = select(1.0, 1.0 / max(sum, 1e-30), ENDS);
    if (!ENDS && first + local < args.queries) {
      carry(first + local, head, largest, sum);
    }
  }
  workgroupBarrier();

  var outs = out; // so that the loops above keep theirs in registers
  for (var i = loop_start(workgroup.x); i < 4u * QUERY_QUADS; i++) {
    let query = first + query_of(i, row_lane);
    let rate = factors[query_of(i, row_lane)];
    for (var o = 0u; o < OUT_QUADS; o++) {
      let quad = o * COLUMN_LANES + column_lane;
      if (query < args.queries && quad < head_quads) {
        y[y0 + query * args.y_quads + quad] = outs[i * OUT_QUADS + o] * rate;
      }
    }
  }
  if (head + 1u == args.heads) { // the last head also writes the padding after its rows' columns
    for (var query = first + row_lane; query < min(first + QUERIES, args.queries); query += ROW_LANES) {
      for (var quad = head_quads + column_lane; head * head_quads + quad < args.y_quads; quad += COLUMN_LANES) {
        y[y0 + query * args.y_quads + quad] = vec4f(0.0);
      }
    }
  }
}

fn four_factors(h: u32, row_lane: u32) -> vec4f {
  let at = query_of(4u * h, row_lane);
  return vec4f(factors[at], factors[at + 1u], factors[at + 2u], factors[at + 3u]);
}
