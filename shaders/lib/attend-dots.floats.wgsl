// Scores of queries and keys in f32. A score adds its dimensions in order.

const SCORE_QUADS = FIRST_K + HEAD_CHUNK * K_STRIDE; // in lib/attend-tile.wgsl

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;

// Quads from one head of q or k to the next.
fn operand_quads() -> u32 {
  return args.dims / 4u;
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
