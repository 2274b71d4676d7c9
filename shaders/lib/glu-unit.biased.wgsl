// A unit of glu-conv.wgsl whose two halves have biases of their own and whose gate passes SiLU; the convolution has a bias, too.
@group(0) @binding(4) var<storage, read> value_bias: array<f32>;
@group(0) @binding(5) var<storage, read> gate_bias: array<f32>;
@group(0) @binding(6) var<storage, read> bias: array<f32>;

fn unit(value: f32, gate: f32, column: u32) -> f32 {
  let g = gate + gate_bias[column];
  return (value + value_bias[column]) * g / (1.0 + exp(min(-g, 80.0)));
}

fn first_sum(column: u32) -> f32 {
  return bias[column];
}
