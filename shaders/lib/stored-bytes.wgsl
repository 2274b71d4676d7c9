// Bytes of a file, which need not begin at whole words.
@group(0) @binding(0) var<storage, read> raw: array<u32>;

fn byte_at(at: u32) -> u32 {
  return (raw[at / 4u] >> (8u * (at % 4u))) & 0xffu;
}

fn half_at(at: u32) -> u32 {
  return byte_at(at) | (byte_at(at + 1u) << 8u);
}
