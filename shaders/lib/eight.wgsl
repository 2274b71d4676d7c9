// Operations on teams of eight lanes of a subgroup, TEAMS in a workgroup. Lanes are shuffled instead of broadcast, because a team
// need not begin at the subgroup's first lane.
enable subgroups;

var<private> first_lane: u32; // the team's first lane in the subgroup

fn lane_at(i: u32) -> u32 {
  if (TEAMS == 1u) {
    return i; // a constant if i is a constant
  }
  return first_lane + i;
}

fn join(low: f32, high: f32, half: u32, upper: bool) -> vec2f {
  return vec2f(select(low, high, upper), subgroupShuffleXor(select(high, low, upper), half));
}

// Maximum of each of eight values over the eight lanes; lane i gets the maximum of value i. Each step halves both the lanes and the
// values.
fn largest_by_lane(v: array<f32, 8>, lane: u32) -> f32 {
  let upper = (lane & 4u) != 0u;
  let a = join(v[0], v[4], 4u, upper);
  let b = join(v[1], v[5], 4u, upper);
  let c = join(v[2], v[6], 4u, upper);
  let d = join(v[3], v[7], 4u, upper);
  let middle = (lane & 2u) != 0u;
  let e = join(max(a.x, a.y), max(c.x, c.y), 2u, middle);
  let f = join(max(b.x, b.y), max(d.x, d.y), 2u, middle);
  let g = join(max(e.x, e.y), max(f.x, f.y), 1u, (lane & 1u) != 0u);
  return max(g.x, g.y);
}

// Lane l gets the sum of the eight lanes' v[l].
fn sum_by_lane(v: array<f32, 8>, lane: u32) -> f32 {
  let upper = (lane & 4u) != 0u;
  let a = join(v[0], v[4], 4u, upper);
  let b = join(v[1], v[5], 4u, upper);
  let c = join(v[2], v[6], 4u, upper);
  let d = join(v[3], v[7], 4u, upper);
  let middle = (lane & 2u) != 0u;
  let e = join(a.x + a.y, c.x + c.y, 2u, middle);
  let f = join(b.x + b.y, d.x + d.y, 2u, middle);
  let g = join(e.x + e.y, f.x + f.y, 1u, (lane & 1u) != 0u);
  return g.x + g.y;
}

// c + q · k for four keys and four d's of one query
fn fold_quad(c: vec4f, q: vec4f, k: mat4x4f) -> vec4f {
  return fma(vec4f(q.w), k[3], fma(vec4f(q.z), k[2], fma(vec4f(q.y), k[1], fma(vec4f(q.x), k[0], c))));
}

// fold_quad for eight queries, one per lane.
fn fold_eight(c: ptr<function, array<array<vec4f, 8>, TILES>>, t: u32, q: vec4f, k: mat4x4f) {
  (*c)[t][0] = fold_quad((*c)[t][0], subgroupShuffle(q, lane_at(0u)), k);
  (*c)[t][1] = fold_quad((*c)[t][1], subgroupShuffle(q, lane_at(1u)), k);
  (*c)[t][2] = fold_quad((*c)[t][2], subgroupShuffle(q, lane_at(2u)), k);
  (*c)[t][3] = fold_quad((*c)[t][3], subgroupShuffle(q, lane_at(3u)), k);
  (*c)[t][4] = fold_quad((*c)[t][4], subgroupShuffle(q, lane_at(4u)), k);
  (*c)[t][5] = fold_quad((*c)[t][5], subgroupShuffle(q, lane_at(5u)), k);
  (*c)[t][6] = fold_quad((*c)[t][6], subgroupShuffle(q, lane_at(6u)), k);
  (*c)[t][7] = fold_quad((*c)[t][7], subgroupShuffle(q, lane_at(7u)), k);
}
