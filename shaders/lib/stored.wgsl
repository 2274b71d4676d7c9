// Blocks of VALUES weights and BYTES bytes as they lie in a GGUF file. A file of sources/ brings the
// two numbers, and weight_at(at, i): weight i of the block at byte `at`.
#import "lib/stored-bytes.wgsl"

fn float_at(at: u32) -> f32 {
  return unpack2x16float(half_at(at)).x;
}

fn signed_at(at: u32) -> i32 {
  return i32(byte_at(at) << 24u) >> 24u;
}

// Code i of 32 in 16 bytes: the low halves of all, then the high ones.
fn nibble_of_32(at: u32, i: u32) -> u32 {
  return (byte_at(at + i % 16u) >> (i / 16u * 4u)) & 15u;
}

// Bit i of 32 in four bytes.
fn bit_of_32(at: u32, i: u32) -> u32 {
  return (byte_at(at + i / 8u) >> (i % 8u)) & 1u;
}

// Code i of 64 in 32 bytes.
fn nibble_of_64(at: u32, i: u32) -> u32 {
  return (byte_at(at + i % 32u) >> (i / 32u * 4u)) & 15u;
}

// Code i of 128 in 32 bytes: two bits each.
fn pair_of_128(at: u32, i: u32) -> u32 {
  return (byte_at(at + i % 32u) >> (i / 32u * 2u)) & 3u;
}

fn element(i: u32) -> f32 {
  return weight_at(i / VALUES * BYTES, i % VALUES);
}
