// No subgroups: every invocation holds each row itself.
const LANES = 1u;

struct Lanes {
  @builtin(num_workgroups) unused: vec3u,
}

fn lane_row(lanes: Lanes) -> u32 {
  return 0u;
}

// c[i] += x of row i · w
fn fold(c: ptr<function, array<vec4f, 1>>, x: f32, w: vec4f) {
  (*c)[0] = fma(vec4f(x), w, (*c)[0]);
}
