// Adds a bias per column of the tile's expert; each expert's biases begin at its first group.
@group(0) @binding(5) var<storage, read> bias: array<vec4f>;

fn biased(acc: vec4f, row: u32, quad: u32) -> vec4f {
  return acc + bias[expert_of(row / TASK_ROWS) * args.expert_groups * 8u + quad];
}
