// A block of 32 values as 16 words of f16 pairs.
const WORDS = 16u;

fn encode(values: ptr<function, array<f32, 32>>, block: u32, column: u32) {
  for (var i = 0u; i < WORDS; i++) {
    put(i, pack2x16float(vec2f((*values)[2u * i], (*values)[2u * i + 1u])));
  }
}
