// Reads f16 values of a checkpoint's file, two per word.
@group(0) @binding(0) var<storage, read> raw: array<u32>;

fn element(i: u32) -> f32 {
  return unpack2x16float(raw[i / 2u] >> (16u * (i % 2u))).x;
}
