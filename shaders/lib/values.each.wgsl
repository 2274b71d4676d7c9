// Values times weights, key by key: each weight is shuffled once and used for all of a lane's dimensions.

// Adds the values of the four keys whose weights lane j holds, of eight queries per tile; `at`: index of their first value.
fn add_values(at: vec4u, j: u32, lane: u32, weights: ptr<function, array<array<vec4f, 8>, TILES>>, sums: ptr<function, Sums>) {
  for (var u = 0u; u < 4u; u++) {
    var quads: array<vec4f, max(QUADS, 1u)>;
    for (var part = 0u; part < QUADS; part++) {
      quads[part] = v[at[u] + min(part * 8u + lane, args.dims / 4u - 1u)];
    }
    var singles: array<f32, max(SINGLES, 1u)>;
    for (var part = 0u; part < SINGLES; part++) {
      singles[part] = v[at[u] + QUADS * 8u + part * 2u + lane / 4u][lane % 4u];
    }
    for (var t = 0u; t < TILES; t++) {
      for (var i = 0u; i < 8u; i++) {
        let weight = subgroupShuffle((*weights)[t][i][u], lane_at(j));
        for (var part = 0u; part < QUADS; part++) {
          (*sums).quads[part][t][i] = fma(vec4f(weight), quads[part], (*sums).quads[part][t][i]);
        }
        for (var part = 0u; part < SINGLES; part++) {
          (*sums).singles[part][t][i] = fma(weight, singles[part], (*sums).singles[part][t][i]);
        }
      }
    }
  }
}
