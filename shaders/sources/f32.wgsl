// A checkpoint's values as they lie in the file: f32.
@group(0) @binding(0) var<storage, read> raw: array<f32>;

fn element(i: u32) -> f32 {
  return raw[i];
}
