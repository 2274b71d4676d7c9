// Adds a bias per channel.
@group(0) @binding(4) var<storage, read> bias: array<vec4f>;

fn biased(v: vec4f, quad: u32) -> vec4f {
  return v + bias[quad];
}
