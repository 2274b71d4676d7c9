// A block of 32 values as 32 words.
const WORDS = 32u;

fn encode(values: ptr<function, array<f32, 32>>, block: u32, column: u32) {
  for (var i = 0u; i < WORDS; i++) {
    put(i, bitcast<u32>((*values)[i]));
  }
}
