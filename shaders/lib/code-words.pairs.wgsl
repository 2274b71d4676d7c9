// Words of 4-bit codes as bitsandbytes packs them: [rows][k / 8], the first k of each byte in its upper half.
fn code_at(row: u32, k: u32) -> u32 {
  return (raw[row * args.words + k / PER] >> (((k % PER) ^ 1u) * BITS)) & MASK;
}
