// Multiplies by a weight per channel.
@group(0) @binding(7) var<storage, read> weight: array<vec4f>;

fn weighted(v: vec4f, quad: u32) -> vec4f {
  return v * weight[quad];
}
