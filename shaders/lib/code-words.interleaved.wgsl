// Words of 4-bit codes as AWQ packs them: [k][rows / 8], eight rows in the order 0, 2, 4, 6, 1, 3, 5, 7 from the lowest bits.
fn code_at(row: u32, k: u32) -> u32 {
  let slot = row % 8u / 2u + row % 2u * 4u;
  return (raw[k * args.words + row / 8u] >> (4u * slot)) & MASK;
}
