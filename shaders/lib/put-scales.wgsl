// Stores of scales that are narrower than a word: invocations for other columns write the rest of it at the same time.
@group(0) @binding(3) var<storage, read_write> scales: array<atomic<u32>>;

fn put_bits(word: u32, shift: u32, mask: u32, bits: u32) {
  atomicAnd(&scales[word], ~(mask << shift));
  atomicOr(&scales[word], bits << shift);
}

fn put_half(half: u32, bits: u32) {
  put_bits(half / 2u, half % 2u * 16u, 0xffffu, bits);
}

fn put_byte(byte: u32, bits: u32) {
  put_bits(byte / 4u, byte % 4u * 8u, 0xffu, bits);
}
