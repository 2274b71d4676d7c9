// A value of each expert that counts for the choice.
@group(0) @binding(5) var<storage, read> choice_biases: array<f32>;

fn choice_bias(expert: u32) -> f32 {
  return choice_biases[expert];
}
