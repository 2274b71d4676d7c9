// Without subgroups every invocation loads each row itself.
const LANES = 1u;

struct Lanes {
  @builtin(num_workgroups) unused: vec3u,
}

fn lane_row(lanes: Lanes) -> u32 {
  return 0u;
}

// c[t][i] += x of row i · w
fn fold(c: ptr<function, array<array<vec4f, LANES>, TILES>>, t: u32, x: f32, w: vec4f) {
  (*c)[t][0] = fma(vec4f(x), w, (*c)[t][0]);
}

// fold for the four k's of a quad, row by row.
fn fold_quad(c: ptr<function, array<array<vec4f, LANES>, TILES>>, t: u32, x: vec4f, w: array<vec4f, 4>) {
  (*c)[t][0] = fma_quad(x, w, (*c)[t][0]);
}

fn fma_quad(x: vec4f, w: array<vec4f, 4>, c: vec4f) -> vec4f {
  return fma(vec4f(x.w), w[3], fma(vec4f(x.z), w[2], fma(vec4f(x.y), w[1], fma(vec4f(x.x), w[0], c))));
}
