// A bias for each column of a sum.
@group(0) @binding(5) var<storage, read> bias: array<vec4f>;

fn with_bias(sum: vec4f, quad: u32) -> vec4f {
  return sum + bias[quad];
}
