// An order-preserving map of f32 to u32.
fn sort_key(value: f32) -> u32 {
  let bits = bitcast<u32>(value + 0.0);
  return select(bits | 0x80000000u, ~bits, (bits & 0x80000000u) != 0u);
}

// The number of a key; that of -0 is 0.
fn number_of(key: u32) -> f32 {
  return bitcast<f32>(select(~key, key & 0x7fffffffu, (key & 0x80000000u) != 0u));
}
