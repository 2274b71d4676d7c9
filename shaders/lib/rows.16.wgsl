// 16 rows of a tile, each held by one of 16 lanes. WGSL requires a constant lane for broadcasts, so the loop is unrolled by hand.
enable subgroups;
const LANES = 16u;

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
  (*c)[t][2] = fma(vec4f(subgroupBroadcast(x, 2u)), w, (*c)[t][2]);
  (*c)[t][3] = fma(vec4f(subgroupBroadcast(x, 3u)), w, (*c)[t][3]);
  (*c)[t][4] = fma(vec4f(subgroupBroadcast(x, 4u)), w, (*c)[t][4]);
  (*c)[t][5] = fma(vec4f(subgroupBroadcast(x, 5u)), w, (*c)[t][5]);
  (*c)[t][6] = fma(vec4f(subgroupBroadcast(x, 6u)), w, (*c)[t][6]);
  (*c)[t][7] = fma(vec4f(subgroupBroadcast(x, 7u)), w, (*c)[t][7]);
  (*c)[t][8] = fma(vec4f(subgroupBroadcast(x, 8u)), w, (*c)[t][8]);
  (*c)[t][9] = fma(vec4f(subgroupBroadcast(x, 9u)), w, (*c)[t][9]);
  (*c)[t][10] = fma(vec4f(subgroupBroadcast(x, 10u)), w, (*c)[t][10]);
  (*c)[t][11] = fma(vec4f(subgroupBroadcast(x, 11u)), w, (*c)[t][11]);
  (*c)[t][12] = fma(vec4f(subgroupBroadcast(x, 12u)), w, (*c)[t][12]);
  (*c)[t][13] = fma(vec4f(subgroupBroadcast(x, 13u)), w, (*c)[t][13]);
  (*c)[t][14] = fma(vec4f(subgroupBroadcast(x, 14u)), w, (*c)[t][14]);
  (*c)[t][15] = fma(vec4f(subgroupBroadcast(x, 15u)), w, (*c)[t][15]);
}

// fold for the four k's of a quad, row by row.
fn fold_quad(c: ptr<function, array<array<vec4f, LANES>, TILES>>, t: u32, x: vec4f, w: array<vec4f, 4>) {
  (*c)[t][0] = fma_quad(subgroupBroadcast(x, 0u), w, (*c)[t][0]);
  (*c)[t][1] = fma_quad(subgroupBroadcast(x, 1u), w, (*c)[t][1]);
  (*c)[t][2] = fma_quad(subgroupBroadcast(x, 2u), w, (*c)[t][2]);
  (*c)[t][3] = fma_quad(subgroupBroadcast(x, 3u), w, (*c)[t][3]);
  (*c)[t][4] = fma_quad(subgroupBroadcast(x, 4u), w, (*c)[t][4]);
  (*c)[t][5] = fma_quad(subgroupBroadcast(x, 5u), w, (*c)[t][5]);
  (*c)[t][6] = fma_quad(subgroupBroadcast(x, 6u), w, (*c)[t][6]);
  (*c)[t][7] = fma_quad(subgroupBroadcast(x, 7u), w, (*c)[t][7]);
  (*c)[t][8] = fma_quad(subgroupBroadcast(x, 8u), w, (*c)[t][8]);
  (*c)[t][9] = fma_quad(subgroupBroadcast(x, 9u), w, (*c)[t][9]);
  (*c)[t][10] = fma_quad(subgroupBroadcast(x, 10u), w, (*c)[t][10]);
  (*c)[t][11] = fma_quad(subgroupBroadcast(x, 11u), w, (*c)[t][11]);
  (*c)[t][12] = fma_quad(subgroupBroadcast(x, 12u), w, (*c)[t][12]);
  (*c)[t][13] = fma_quad(subgroupBroadcast(x, 13u), w, (*c)[t][13]);
  (*c)[t][14] = fma_quad(subgroupBroadcast(x, 14u), w, (*c)[t][14]);
  (*c)[t][15] = fma_quad(subgroupBroadcast(x, 15u), w, (*c)[t][15]);
}

fn fma_quad(x: vec4f, w: array<vec4f, 4>, c: vec4f) -> vec4f {
  return fma(vec4f(x.w), w[3], fma(vec4f(x.z), w[2], fma(vec4f(x.y), w[1], fma(vec4f(x.x), w[0], c))));
}
