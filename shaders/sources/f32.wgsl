// Reads f32 values of a checkpoint's file.
@group(0) @binding(0) var<storage, read> raw: array<f32>;

fn element(i: u32) -> f32 {
  return raw[i];
}
