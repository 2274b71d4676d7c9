// A checkpoint's values as they lie in a safetensors file: floats of E2M1, two a byte, the lower half first. Their scales stand in another
// tensor.
#import "lib/stored.wgsl"
#import "lib/e2m1.wgsl"
const VALUES = 32u;
const BYTES = 16u;

fn code_at(at: u32, i: u32) -> u32 {
  return (byte_at(at + i / 2u) >> (i % 2u * 4u)) & 15u;
}

fn weight_at(at: u32, i: u32) -> f32 {
  let code = code_at(at, i);
  let magnitude = f32((DOUBLED >> (4u * (code & 7u))) & 15u) * 0.5;
  return select(magnitude, -magnitude, code > 7u);
}
