// Sine and cosine of angles given as 32-bit fractions of a turn, in which whole turns vanish by overflow; the rest is reduced to at
// most an eighth of a turn, where short series are exact to the last bit or two. (A GPU's own sin and cos are not.)

// The upper 32 bits of a product.
fn high_product(a: u32, b: u32) -> u32 {
  let low = (a & 0xffffu) * (b & 0xffffu);
  let mid = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
  let cross = (a & 0xffffu) * (b >> 16u) + (mid & 0xffffu);
  return (a >> 16u) * (b >> 16u) + (mid >> 16u) + (cross >> 16u);
}

fn cos_sin(turn: u32) -> vec2f {
  let quarter = (turn + 0x20000000u) >> 30u;
  let x = f32(bitcast<i32>(turn - (quarter << 30u))) * 1.4629180792671596e-9; // 2π / 2³²
  let z = x * x;
  let s = x * (1.0 + z * (-0.16666667 + z * (0.008333333 + z * (-0.00019841270 + z * 0.0000027557319))));
  let c = 1.0 + z * (-0.5 + z * (0.041666668 + z * (-0.0013888889 + z * 0.000024801588)));
  let turned = select(vec2f(c, s), vec2f(-s, c), (quarter & 1u) != 0u);
  return select(turned, -turned, (quarter & 2u) != 0u);
}
