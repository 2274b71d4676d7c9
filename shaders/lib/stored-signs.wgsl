// Bytes of GGUF's IQ1, IQ2 and IQ3.
#import "lib/stored.wgsl"

fn word_at(at: u32) -> u32 {
  return half_at(at) | (half_at(at + 2u) << 16u);
}

// Eight signs, of which seven are stored: their number is even.
fn even_signs(bits: u32) -> u32 {
  let seven = bits & 127u;
  return seven | ((countOneBits(seven) & 1u) << 7u);
}

fn nibble_at(at: u32, i: u32) -> u32 {
  return (byte_at(at + i / 2u) >> (i % 2u * 4u)) & 15u;
}
