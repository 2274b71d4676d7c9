// Sums of values times weights of a tile of dense attention (lib/attend-tile.wgsl), through workgroup memory.

// Adds the values of the group's first `count` keys. The weights go through workgroup memory half by half.
fn add_values(
  rows: Rows, first_key: u32, count: u32, local: u32, row_lane: u32, column_lane: u32,
  weights: ptr<function, Scores>, out: ptr<function, Out>,
) {
  const half = 2u * COLUMN_LANES / VALUE_KEYS;
  var vs: array<vec4f, V_LOADS>;
  let turns = (count + VALUE_KEYS - 1u) / VALUE_KEYS;
  for (var next = 0u; next <= turns; next++) {
    if (next > 0u) {
      if (next == 1u) {
        share_weights(weights, 0u, row_lane, column_lane);
      }
      if (next == half + 1u) {
        share_weights(weights, 2u, row_lane, column_lane);
      }
      for (var n = 0u; n < V_LOADS; n++) {
        let i = n * LANES + local;
        if (VALUE_KEYS * OUT_ROW % LANES == 0u || i < VALUE_KEYS * OUT_ROW) {
          tile[FIRST_V + i] = vs[n];
        }
      }
      workgroupBarrier();
    }
    if (next < turns) {
      for (var n = 0u; n < V_LOADS; n++) {
        let i = n * LANES + local;
        let row = min(first_key + next * VALUE_KEYS + i / OUT_ROW, rows.last_key);
        vs[n] = v[rows.v0 + row * args.v_quads + min(i % OUT_ROW, args.dims / 4u - 1u)];
      }
    }
    if (next > 0u) {
      let first_weight = (next - 1u) % half * VALUE_KEYS * W_STRIDE + row_lane;
      let fours = select(VALUE_KEYS, count - (turns - 1u) * VALUE_KEYS + 3u, next == turns) / 4u;
      for (var four = 0u; four < fours; four++) {
        for (var key = four * 4u; key < four * 4u + 4u; key++) {
          add_key(first_weight + key * W_STRIDE, FIRST_V + key * OUT_ROW + column_lane, out);
        }
      }
      workgroupBarrier();
    }
  }
}

// `weight`: index of the lane's first queries' weights; `value`: of its first value.
fn add_key(weight: u32, value: u32, out: ptr<function, Out>) {
  for (var h = 0u; h < QUERY_QUADS; h++) {
    let four = tile[weight + h * ROW_LANES];
    for (var o = 0u; o < OUT_QUADS; o++) {
      for (var u = 0u; u < 4u; u++) {
        let at = (h * 4u + u) * OUT_QUADS + o;
        (*out)[at] = fma(vec4f(four[u]), tile[value + o * COLUMN_LANES], (*out)[at]);
      }
    }
  }
}

fn share_weights(weights: ptr<function, Scores>, first: u32, row_lane: u32, column_lane: u32) {
  for (var h = 0u; h < QUERY_QUADS; h++) {
    for (var j = 0u; j < 2u; j++) {
      tile[(j * COLUMN_LANES + column_lane) * W_STRIDE + h * ROW_LANES + row_lane] = (*weights)[h * 4u + first + j];
    }
  }
}
