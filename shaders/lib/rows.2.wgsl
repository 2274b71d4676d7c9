// 2 rows of a tile, each held by one of 2 lanes. WGSL requires a constant lane for broadcasts, so the loop is unrolled by hand.
enable subgroups;
const LANES = 2u;

struct Lanes {
  @builtin(subgroup_invocation_id) id: u32,
}

fn lane_row(lanes: Lanes) -> u32 {
  return lanes.id % LANES;
}

// c[t][i] += x of row i · w
fn fold(c: ptr<function, array<array<vec4f, LANES>, TILES>>, t: u32, x: f32, w: vec4f) {
  (*c)[t][0] = fma(vec4f(subgroupBroadcast(x, 0u)), w, (*c)[t][0]);
  (*c)[t][1] = fma(vec4f(subgroupBroadcast(x, 1u)), w, (*c)[t][1]);
}

// fold for the four k's of a quad, row by row.
fn fold_quad(c: ptr<function, array<array<vec4f, LANES>, TILES>>, t: u32, x: vec4f, w: array<vec4f, 4>) {
  (*c)[t][0] = fma_quad(subgroupBroadcast(x, 0u), w, (*c)[t][0]);
  (*c)[t][1] = fma_quad(subgroupBroadcast(x, 1u), w, (*c)[t][1]);
}

fn fma_quad(x: vec4f, w: array<vec4f, 4>, c: vec4f) -> vec4f {
  return fma(vec4f(x.w), w[3], fma(vec4f(x.z), w[2], fma(vec4f(x.y), w[1], fma(vec4f(x.x), w[0], c))));
}
