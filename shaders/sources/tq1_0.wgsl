// GGUF's TQ1_0: 240 codes 0, 1 and 2 in 48 bytes, five as digits of one fraction, then 16 in four bytes, and a scale in f16; w = scale · (code - 1).
#import "lib/stored.wgsl"
const VALUES = 256u;
const BYTES = 54u;

// Digit n after the point of byte / 256 to the base of 3.
fn digit_of(byte: u32, n: u32) -> u32 {
  var rest = byte;
  for (var i = 0u; i < n; i++) {
    rest = (rest * 3u) & 255u;
  }
  return (rest * 3u) >> 8u;
}

fn code_at(at: u32, i: u32) -> u32 {
  if (i < 160u) {
    return digit_of(byte_at(at + i % 32u), i / 32u);
  }
  if (i < 240u) {
    return digit_of(byte_at(at + 32u + i % 16u), (i - 160u) / 16u);
  }
  return digit_of(byte_at(at + 48u + i % 4u), (i - 240u) / 4u);
}

fn scale_bits(at: u32) -> u32 {
  return half_at(at + 52u);
}

fn weight_at(at: u32, i: u32) -> f32 {
  return float_at(at + 52u) * (f32(code_at(at, i)) - 1.0);
}
