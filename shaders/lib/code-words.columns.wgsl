// Words of codes as GPTQ packs them: [k / PER][rows], the first k in the lowest bits.
fn code_at(row: u32, k: u32) -> u32 {
  return (raw[k / PER * args.words + row] >> (k % PER * BITS)) & MASK;
}
