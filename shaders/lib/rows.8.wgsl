// 8 rows of a tile, each held by one of 8 lanes. WGSL requires a constant lane for broadcasts, so the loop is unrolled by hand.
enable subgroups;
const LANES = 8u;

struct Lanes {
  @builtin(subgroup_invocation_id) id: u32,
}

fn lane_row(lanes: Lanes) -> u32 {
  return lanes.id % LANES;
}

// c[i] += x of row i · w
fn fold(c: ptr<function, array<vec4f, 8>>, x: f32, w: vec4f) {
  (*c)[0] = fma(vec4f(subgroupBroadcast(x, 0u)), w, (*c)[0]);
  (*c)[1] = fma(vec4f(subgroupBroadcast(x, 1u)), w, (*c)[1]);
  (*c)[2] = fma(vec4f(subgroupBroadcast(x, 2u)), w, (*c)[2]);
  (*c)[3] = fma(vec4f(subgroupBroadcast(x, 3u)), w, (*c)[3]);
  (*c)[4] = fma(vec4f(subgroupBroadcast(x, 4u)), w, (*c)[4]);
  (*c)[5] = fma(vec4f(subgroupBroadcast(x, 5u)), w, (*c)[5]);
  (*c)[6] = fma(vec4f(subgroupBroadcast(x, 6u)), w, (*c)[6]);
  (*c)[7] = fma(vec4f(subgroupBroadcast(x, 7u)), w, (*c)[7]);
}

// fold for the four k's of a quad, row by row.
fn fold_quad(c: ptr<function, array<vec4f, 8>>, x: vec4f, w: array<vec4f, 4>) {
  (*c)[0] = fma_quad(subgroupBroadcast(x, 0u), w, (*c)[0]);
  (*c)[1] = fma_quad(subgroupBroadcast(x, 1u), w, (*c)[1]);
  (*c)[2] = fma_quad(subgroupBroadcast(x, 2u), w, (*c)[2]);
  (*c)[3] = fma_quad(subgroupBroadcast(x, 3u), w, (*c)[3]);
  (*c)[4] = fma_quad(subgroupBroadcast(x, 4u), w, (*c)[4]);
  (*c)[5] = fma_quad(subgroupBroadcast(x, 5u), w, (*c)[5]);
  (*c)[6] = fma_quad(subgroupBroadcast(x, 6u), w, (*c)[6]);
  (*c)[7] = fma_quad(subgroupBroadcast(x, 7u), w, (*c)[7]);
}

fn fma_quad(x: vec4f, w: array<vec4f, 4>, c: vec4f) -> vec4f {
  return fma(vec4f(x.w), w[3], fma(vec4f(x.z), w[2], fma(vec4f(x.y), w[1], fma(vec4f(x.x), w[0], c))));
}
