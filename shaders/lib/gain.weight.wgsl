// Heads are normalized by an RMSNorm with these weights.
const NORMED = true;

@group(0) @binding(3) var<storage, read> weight: array<f32>;

fn gain(d: u32) -> f32 {
  return weight[d];
}
