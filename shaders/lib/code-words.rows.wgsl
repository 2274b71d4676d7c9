// Words of codes as compressed-tensors packs them: [rows][k / PER], the first k in the lowest bits.
fn code_at(row: u32, k: u32) -> u32 {
  return (raw[row * args.words + k / PER] >> (k % PER * BITS)) & MASK;
}
