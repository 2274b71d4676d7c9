// A row of lib/softmax-tile.wgsl: its query as f16, its scores made to weights, and their sum. PER_ROW lanes do it together.

const UNSEEN = vec4f(-3e38);

fn power_of_two(exponent: i32) -> f32 {
  return bitcast<f32>(u32(exponent + 127) << 23u);
}

// Keeps the row's query, of `head_quads` quads from q0 on, multiplied by a power of two that brings its largest value to at least 2¹⁴ and below
// 2¹⁵. Returns the exponent of what undoes this.
fn share_query(q0: u32, head_quads: u32, local: u32) -> i32 {
  let row = local / PER_ROW;
  let own = local % PER_ROW;
  var most = vec4f(0.0);
  for (var quad = own; quad < head_quads; quad += PER_ROW) {
    most = max(most, abs(q[q0 + quad]));
  }
  ys[local] = max(max(most.x, most.y), max(most.z, most.w));
  workgroupBarrier();
  var largest = 0.0;
  for (var i = 0u; i < PER_ROW; i++) {
    largest = max(largest, ys[row * PER_ROW + i]);
  }
  let exponent = max(bitcast<u32>(largest) >> 23u, 15u); // below, the factor would not be a normal number
  let factor = bitcast<f32>((268u - exponent) << 23u);
  for (var quad = own; quad < DIMS / 4u; quad += PER_ROW) {
    let four = select(vec4f(0.0), q[q0 + min(quad, head_quads - 1u)] * factor, quad < head_quads);
    xs[(quad / 8u * ROWS + row) * STRIDE + quad % 8u] = Half(four);
  }
  return i32(exponent) - 141;
}

// Turns the block's scores in ys into weights in xs. `scale`: factor from scores to exponents of two. The block's values are stored multiplied by
// 2^−`exponent`. `is_partly`: some row does not see some key. Returns the factor on the row's earlier sums.
fn weigh(state: ptr<function, RowState>, local: u32, block: u32, is_partly: bool, scale: f32, exponent: i32) -> f32 {
  let row = local / PER_ROW;
  let first_key = block * BLOCK_KEYS;
  var most = UNSEEN;
  if (is_partly) {
    for (var quad = 0u; quad < turns(BLOCK_KEYS / 4u); quad++) {
      most = max(most, select(UNSEEN, four_kept(row, quad), are_seen(*state, first_key + 4u * quad)));
    }
  } else {
    for (var quad = 0u; quad < turns(BLOCK_KEYS / 4u); quad++) {
      most = max(most, four_kept(row, quad));
    }
  }
  let four = vec4f(max(max(most.x, most.y), max(most.z, most.w)));
  let now = shifted_scores(four, scale, f32(exponent)).x;
  var factor = 1.0;
  if (now > (*state).largest + SLACK && four.x > UNSEEN.x) {
    factor = exp2((*state).largest - now);
    if ((*state).largest > MASKED) { // before a row's first key its sums are zeros
      atomicStore(&grown, block + 1u);
    }
    (*state).largest = now;
  }
  let shift = f32(exponent) + LIFT - (*state).largest;
  let first_quad = local % PER_ROW * OWN_QUADS;
  var sum = vec4f(0.0);
  if (is_partly) {
    for (var n = 0u; n < turns(OWN_QUADS); n++) {
      let quad = first_quad + n;
      let weights = exp2(shifted_scores(four_kept(row, quad), scale, shift));
      sum += keep_weights(row, quad, select(vec4f(0.0), weights, are_seen(*state, first_key + 4u * quad)));
    }
  } else {
    for (var n = 0u; n < turns(OWN_QUADS); n++) {
      let quad = first_quad + n;
      sum += keep_weights(row, quad, exp2(shifted_scores(four_kept(row, quad), scale, shift)));
    }
  }
  (*state).total = fma((*state).total, factor, ((sum.x + sum.y) + (sum.z + sum.w)) * power_of_two(-exponent));
  return factor;
}

fn keep_weights(row: u32, quad: u32, weights: vec4f) -> vec4f {
  xs[WEIGHTS + row * STRIDE + quad] = Half(weights);
  return weights;
}

fn are_seen(state: RowState, key: u32) -> vec4<bool> {
  let keys = vec4u(key) + vec4u(0u, 1u, 2u, 3u);
  return (keys >= vec4u(state.from_key)) & (keys < vec4u(state.end_key));
}

// The sum of the row's lanes.
fn row_total(local: u32, total: f32) -> f32 {
  workgroupBarrier();
  ys[local] = total;
  workgroupBarrier();
  var sum = 0.0;
  for (var i = 0u; i < PER_ROW; i++) {
    sum += ys[local / PER_ROW * PER_ROW + i];
  }
  workgroupBarrier();
  return sum;
}

// Writes the sums of the lane's row, multiplied by `rate`, to the kernel's y from the column `first` on, counted over all rows. `is_row`: whether there
// is such a row.
fn store_rows(part: Part, lane: u32, out: ptr<function, Outs>, local: u32, first: u32, rate: f32, is_row: bool) {
  for (var group = 0u; group < turns(GROUPS); group++) {
    keep_group(part, lane, group, out);
    workgroupBarrier();
    for (var n = 0u; n < turns(OWN_QUADS); n++) {
      let quad = local % PER_ROW * OWN_QUADS + n;
      let d = dimension_at(group, quad * 4u);
      if (is_row && d < args.dims) {
        y[(first + d) / 4u] = four_kept(local / PER_ROW, quad) * rate;
      }
    }
    workgroupBarrier();
  }
}
