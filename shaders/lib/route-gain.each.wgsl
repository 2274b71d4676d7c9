// Each expert has a factor on its share.
@group(0) @binding(5) var<storage, read> gains: array<f32>;

fn route_gain(expert: u32) -> f32 {
  return gains[expert];
}
