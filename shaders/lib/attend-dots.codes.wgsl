// Scores of queries and keys in 8 bits (attend-codes.wgsl): dot products of integers, which are exact, times the scales of both.
requires packed_4x8_integer_dot_product;

const SCORE_QUADS = 0u; // in lib/attend-tile.wgsl: codes have memory of their own

@group(0) @binding(0) var<storage, read> q: array<vec4u>;
@group(0) @binding(1) var<storage, read> k: array<vec4u>;

var<workgroup> codes: array<vec4u, FIRST_K + HEAD_CHUNK * K_STRIDE>;

// Quads of codes of a head, behind which its scale stands.
fn code_quads() -> u32 {
  return (args.dims + 15u) / 16u;
}

// Quads from one head of q or k to the next.
fn operand_quads() -> u32 {
  return code_quads() + 1u;
}

fn scores_of(rows: Rows, first_key: u32, local: u32, row_lane: u32, column_lane: u32) -> Scores {
  let quads = code_quads();
  var sums = array<vec4i, 4u * QUERY_QUADS>();
  for (var first = 0u; first < quads; first += HEAD_CHUNK) {
    for (var i = local; i < QUERIES * HEAD_CHUNK; i += LANES) {
      let row = min(rows.first + i / HEAD_CHUNK, args.queries - 1u);
      codes[i % HEAD_CHUNK * Q_STRIDE + i / HEAD_CHUNK] = q[rows.q0 + row * args.q_quads + min(first + i % HEAD_CHUNK, quads - 1u)];
    }
    for (var i = local; i < GROUP * HEAD_CHUNK; i += LANES) {
      let row = min(first_key + i / HEAD_CHUNK, rows.last_key);
      codes[FIRST_K + i % HEAD_CHUNK * K_STRIDE + i / HEAD_CHUNK] = k[rows.k0 + row * args.k_quads + min(first + i % HEAD_CHUNK, quads - 1u)];
    }
    workgroupBarrier();
    for (var d = 0u; d < min(HEAD_CHUNK, quads - first); d++) {
      let at = FIRST_K + d * K_STRIDE + column_lane;
      let keys = array<vec4u, 4>(codes[at], codes[at + COLUMN_LANES], codes[at + 2u * COLUMN_LANES], codes[at + 3u * COLUMN_LANES]);
      for (var h = 0u; h < QUERY_QUADS; h++) {
        let row = d * Q_STRIDE + query_of(4u * h, row_lane);
        let queries = array<vec4u, 4>(codes[row], codes[row + 1u], codes[row + 2u], codes[row + 3u]);
        for (var j = 0u; j < 4u; j++) {
          let key = keys[j];
          sums[h * 4u + j] += vec4i(dot16(queries[0], key), dot16(queries[1], key), dot16(queries[2], key), dot16(queries[3], key));
        }
      }
    }
    workgroupBarrier();
  }

  var s: Scores;
  for (var h = 0u; h < QUERY_QUADS; h++) {
    let query = rows.first + query_of(4u * h, row_lane);
    let scales = args.scale * vec4f(query_scale(rows, query), query_scale(rows, query + 1u), query_scale(rows, query + 2u), query_scale(rows, query + 3u));
    for (var j = 0u; j < 4u; j++) {
      let key = min(first_key + j * COLUMN_LANES + column_lane, rows.last_key);
      let scale = bitcast<f32>(k[rows.k0 + key * args.k_quads + quads].x);
      s[h * 4u + j] = vec4f(sums[h * 4u + j]) * (scales * scale);
    }
  }
  return s;
}

fn query_scale(rows: Rows, query: u32) -> f32 {
  return bitcast<f32>(q[rows.q0 + min(query, args.queries - 1u) * args.q_quads + code_quads()].x);
}

fn dot16(a: vec4u, b: vec4u) -> i32 {
  return (dot4I8Packed(a.x, b.x) + dot4I8Packed(a.y, b.y)) + (dot4I8Packed(a.z, b.z) + dot4I8Packed(a.w, b.w));
}
