// A block of 32 values as 16 words of bf16 pairs, rounded to nearest even.
const WORDS = 16u;

fn rounded(value: f32) -> u32 {
  let bits = bitcast<u32>(value);
  return (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
}

fn encode(values: ptr<function, array<f32, 32>>, block: u32, column: u32) {
  for (var i = 0u; i < WORDS; i++) {
    put(i, rounded((*values)[2u * i]) | (rounded((*values)[2u * i + 1u]) << 16u));
  }
}
