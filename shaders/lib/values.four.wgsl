// Values times weights, four keys at once: a CPU, which keeps the sums in memory, then loads a sum once for four multiplications (a
// seventh faster for heads of 40 dimensions on llvmpipe). For heads of at most 80 dimensions. The parts are unrolled by hand: with
// a loop around these loops, drivers do not unroll some of them, which is five times slower.

// Adds the values of the four keys whose weights lane j holds, of eight queries per tile; `at`: index of their first value.
fn add_values(at: vec4u, j: u32, lane: u32, weights: ptr<function, array<array<vec4f, 8>, TILES>>, sums: ptr<function, Sums>) {
  if (QUADS > 0u) {
    add_quad(0u, at, j, lane, weights, sums);
  }
  if (QUADS > 1u) {
    add_quad(1u, at, j, lane, weights, sums);
  }
  if (QUADS > 2u) {
    add_quad(2u, at, j, lane, weights, sums);
  }
  if (SINGLES > 0u) {
    add_single(0u, at, j, lane, weights, sums);
  }
  if (SINGLES > 1u) {
    add_single(1u, at, j, lane, weights, sums);
  }
  if (SINGLES > 2u) {
    add_single(2u, at, j, lane, weights, sums);
  }
}

fn add_quad(part: u32, at: vec4u, j: u32, lane: u32, weights: ptr<function, array<array<vec4f, 8>, TILES>>, sums: ptr<function, Sums>) {
  let quad = min(part * 8u + lane, args.dims / 4u - 1u);
  let values = mat4x4f(v[at.x + quad], v[at.y + quad], v[at.z + quad], v[at.w + quad]);
  for (var t = 0u; t < TILES; t++) {
    for (var i = 0u; i < 8u; i++) {
      let four = subgroupShuffle((*weights)[t][i], lane_at(j));
      (*sums).quads[part][t][i] = fold_quad((*sums).quads[part][t][i], four, values);
    }
  }
}

fn add_single(part: u32, at: vec4u, j: u32, lane: u32, weights: ptr<function, array<array<vec4f, 8>, TILES>>, sums: ptr<function, Sums>) {
  let quad = QUADS * 8u + part * 2u + lane / 4u;
  let d = lane % 4u;
  let values = vec4f(v[at.x + quad][d], v[at.y + quad][d], v[at.z + quad][d], v[at.w + quad][d]);
  for (var t = 0u; t < TILES; t++) {
    for (var i = 0u; i < 8u; i++) {
      let four = subgroupShuffle((*weights)[t][i], lane_at(j));
      let sum = fma(four.y, values.y, fma(four.x, values.x, (*sums).singles[part][t][i]));
      (*sums).singles[part][t][i] = fma(four.w, values.w, fma(four.z, values.z, sum));
    }
  }
}
