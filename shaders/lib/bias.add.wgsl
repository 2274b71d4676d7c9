// Adds a bias per column.
@group(0) @binding(5) var<storage, read> bias: array<vec4f>;

fn biased(acc: vec4f, row: u32, quad: u32) -> vec4f {
  return acc + bias[quad];
}
