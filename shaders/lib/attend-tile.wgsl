// Scores of a tile of dense attention, whose queries, keys and values go through workgroup memory. ROW_LANES lanes divide the
// queries, COLUMN_LANES the keys of a group and the dimensions of a head. A score adds its dimensions in order, a sum its keys.

const ROW_LANES = 8u;
const COLUMN_LANES = 16u;
const QUERY_QUADS = 2u; // quads of queries of a lane
const OUT_QUADS = 1u;   // quads of dimensions of a lane
const HEAD_CHUNK = 4u;  // quads of dimensions in workgroup memory at once, for the scores
const VALUE_KEYS = 16u; // keys whose values are in workgroup memory at once; a divisor of 2 · COLUMN_LANES

const MASKED = -1e30;
const LANES = ROW_LANES * COLUMN_LANES;
const QUERIES = 4u * QUERY_QUADS * ROW_LANES;
const GROUP = 4u * COLUMN_LANES;
const ALL_QUERY_QUADS = QUERIES / 4u;
const OUT_ROW = OUT_QUADS * COLUMN_LANES; // quads of a row of values

// Strides that are no multiples of the banks. [quad of dimensions][row], [key or lane][quad of queries]
const Q_STRIDE = QUERIES + 2u;
const K_STRIDE = GROUP + 2u;
const W_STRIDE = ALL_QUERY_QUADS + 1u;
const FIRST_K = HEAD_CHUNK * Q_STRIDE;
const FIRST_V = 2u * COLUMN_LANES * W_STRIDE;
const Q_LOADS = (QUERIES * HEAD_CHUNK + LANES - 1u) / LANES;
const K_LOADS = (GROUP * HEAD_CHUNK + LANES - 1u) / LANES;
const V_LOADS = (VALUE_KEYS * OUT_ROW + LANES - 1u) / LANES;

alias Scores = array<vec4f, 4u * QUERY_QUADS>;          // [quad of queries][key]: four queries
alias Out = array<vec4f, 4u * QUERY_QUADS * OUT_QUADS>; // [query][quad of dimensions]

struct Rows {
  q0: u32, // first quad of the head in the item's first row
  k0: u32,
  v0: u32,
  first: u32,    // query of the tile
  last_key: u32, // of the item; rows beyond are not read
}

// Queries and keys, or weights and values; also one number for each lane and query.
var<workgroup> tile: array<vec4f, max(FIRST_K + HEAD_CHUNK * K_STRIDE, FIRST_V + VALUE_KEYS * OUT_ROW)>;
var<workgroup> largest_scores: array<f32, QUERIES>;

// The lane's i-th query of the tile.
fn query_of(i: u32, row_lane: u32) -> u32 {
  return (i / 4u * ROW_LANES + row_lane) * 4u + i % 4u;
}

fn four_largest(h: u32, row_lane: u32) -> vec4f {
  let at = query_of(4u * h, row_lane);
  return vec4f(largest_scores[at], largest_scores[at + 1u], largest_scores[at + 2u], largest_scores[at + 3u]);
}

fn share_partial(four: vec4f, h: u32, row_lane: u32, column_lane: u32) {
  tile[column_lane * W_STRIDE + h * ROW_LANES + row_lane] = four;
}

fn partial(column_lane: u32, query: u32) -> f32 {
  return tile[column_lane * W_STRIDE + query / 4u][query % 4u];
}

fn scores_of(rows: Rows, first_key: u32, local: u32, row_lane: u32, column_lane: u32) -> Scores {
  let head_quads = args.dims / 4u;
  var s = Scores();
  var qs: array<vec4f, Q_LOADS>;
  var ks: array<vec4f, K_LOADS>;
  let chunks = (head_quads + HEAD_CHUNK - 1u) / HEAD_CHUNK;
  for (var next = 0u; next <= chunks; next++) {
    if (next > 0u) {
      for (var n = 0u; n < Q_LOADS; n++) {
        let i = n * LANES + local;
        if (QUERIES * HEAD_CHUNK % LANES == 0u || i < QUERIES * HEAD_CHUNK) {
          tile[i % HEAD_CHUNK * Q_STRIDE + i / HEAD_CHUNK] = qs[n] * args.scale;
        }
      }
      for (var n = 0u; n < K_LOADS; n++) {
        let i = n * LANES + local;
        if (GROUP * HEAD_CHUNK % LANES == 0u || i < GROUP * HEAD_CHUNK) {
          tile[FIRST_K + i % HEAD_CHUNK * K_STRIDE + i / HEAD_CHUNK] = ks[n];
        }
      }
      workgroupBarrier();
    }
    if (next < chunks) { // loaded before the products of the chunk before
      for (var n = 0u; n < Q_LOADS; n++) {
        let i = n * LANES + local;
        let quad = next * HEAD_CHUNK + i % HEAD_CHUNK;
        let row = min(rows.first + i / HEAD_CHUNK, args.queries - 1u);
        qs[n] = select(vec4f(0.0), q[rows.q0 + row * args.q_quads + min(quad, head_quads - 1u)], quad < head_quads);
      }
      for (var n = 0u; n < K_LOADS; n++) {
        let i = n * LANES + local;
        let quad = next * HEAD_CHUNK + i % HEAD_CHUNK;
        let row = min(first_key + i / HEAD_CHUNK, rows.last_key);
        ks[n] = select(vec4f(0.0), k[rows.k0 + row * args.k_quads + min(quad, head_quads - 1u)], quad < head_quads);
      }
    }
    if (next > 0u) {
      let quads = select(HEAD_CHUNK, head_quads - (chunks - 1u) * HEAD_CHUNK, next == chunks);
      for (var d = 0u; d < quads; d++) {
        let at = FIRST_K + d * K_STRIDE + column_lane;
        let keys = array<vec4f, 4>(tile[at], tile[at + COLUMN_LANES], tile[at + 2u * COLUMN_LANES], tile[at + 3u * COLUMN_LANES]);
        for (var h = 0u; h < QUERY_QUADS; h++) {
          let row = d * Q_STRIDE + query_of(4u * h, row_lane);
          let by_d = transpose(mat4x4f(tile[row], tile[row + 1u], tile[row + 2u], tile[row + 3u]));
          for (var j = 0u; j < 4u; j++) {
            let key = keys[j];
            let sum = fma(by_d[1], vec4f(key.y), fma(by_d[0], vec4f(key.x), s[h * 4u + j]));
            s[h * 4u + j] = fma(by_d[3], vec4f(key.w), fma(by_d[2], vec4f(key.z), sum));
          }
        }
      }
      workgroupBarrier();
    }
  }
  return s;
}
