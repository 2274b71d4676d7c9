// A residual in a buffer of its own with the layout of y.
@group(0) @binding(7) var<storage, read> residual: array<vec4f>;

fn residual_at(i: u32) -> vec4f {
  return residual[i];
}
