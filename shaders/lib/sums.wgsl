// Sums of values that a lane holds for its team's queries: QUADS times four dimensions and SINGLES times one. They are held in
// registers. They are loaded and stored through an array in memory with one loop, because unrolled stores would each be compiled.
const HELD = 4u * QUADS + SINGLES; // dimensions per query and lane

alias Made = array<f32, 8u * TILES * HELD>; // [query][HELD]

struct Sums {
  quads: array<array<array<vec4f, 8>, TILES>, max(QUADS, 1u)>, // arrays must not have length zero
  singles: array<array<array<f32, 8>, TILES>, max(SINGLES, 1u)>,
}

// The dimension of the head that is a lane's i-th one.
fn d_of(i: u32, lane: u32) -> u32 {
  let single = QUADS * 32u + (i - QUADS * 4u) * 8u + lane;
  return select(single, i / 4u * 32u + lane * 4u + i % 4u, i < QUADS * 4u);
}

fn to_memory(sums: ptr<function, Sums>, t: u32, i: u32, rate: f32, made: ptr<function, Made>) {
  for (var part = 0u; part < QUADS; part++) {
    for (var u = 0u; u < 4u; u++) {
      (*made)[(t * 8u + i) * HELD + part * 4u + u] = (*sums).quads[part][t][i][u] * rate;
    }
  }
  for (var part = 0u; part < SINGLES; part++) {
    (*made)[(t * 8u + i) * HELD + QUADS * 4u + part] = (*sums).singles[part][t][i] * rate;
  }
}

fn from_memory(made: ptr<function, Made>, t: u32, i: u32, sums: ptr<function, Sums>) {
  for (var part = 0u; part < QUADS; part++) {
    for (var u = 0u; u < 4u; u++) {
      (*sums).quads[part][t][i][u] = (*made)[(t * 8u + i) * HELD + part * 4u + u];
    }
  }
  for (var part = 0u; part < SINGLES; part++) {
    (*sums).singles[part][t][i] = (*made)[(t * 8u + i) * HELD + QUADS * 4u + part];
  }
}
