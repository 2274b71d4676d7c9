// The sum begins with a bias per column.
@group(0) @binding(7) var<storage, read> bias: array<vec4f>;

fn first_sum(quad: u32) -> vec4f {
  return bias[quad];
}
