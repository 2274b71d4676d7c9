// A weight for each column.
@group(0) @binding(1) var<storage, read> weight: array<vec4f>;

fn affine(v: vec4f, quad: u32) -> vec4f {
  return v * weight[quad];
}
