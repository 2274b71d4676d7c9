// Adds a bias per column; those of an expert begin with its first group.
@group(0) @binding(5) var<storage, read> bias: array<vec4f>;

fn biased(acc: vec4f, row: u32, quad: u32) -> vec4f {
  return acc + bias[bias_group(row) * 8u + quad];
}
