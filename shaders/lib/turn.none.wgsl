// Pairs are not rotated.

fn turn(token: u32, stride: u32, pair: u32) -> vec2f {
  return vec2f(1.0, 0.0);
}
