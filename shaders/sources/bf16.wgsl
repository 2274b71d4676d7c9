// Reads bf16 values of a checkpoint's file, two per word.
@group(0) @binding(0) var<storage, read> raw: array<u32>;

fn element(i: u32) -> f32 {
  return bitcast<f32>((raw[i / 2u] >> (16u * (i % 2u))) << 16u);
}
