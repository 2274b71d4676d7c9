// Pairs are rotated by the angles of a token's row in a table.

@group(0) @binding(1) var<storage, read> table: array<f32>; // [tokens, cos and sin of each pair alternating]

fn turn(token: u32, stride: u32, pair: u32) -> vec2f {
  let at = token * stride + 2u * pair;
  return vec2f(table[at], table[at + 1u]);
}
