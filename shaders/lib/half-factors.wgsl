// Values in f16 for products on matrix units: they are multiplied by a power of two that brings the largest to at least 2¹⁴ and below 2¹⁵. So no
// value becomes infinite, and those above a 2²⁸th of the largest keep all bits of f16.

const LEAST = 15u; // biased exponent of f32 below which the factors would not be normal numbers

// The factor, and the one that undoes it.
fn half_factors(largest: f32) -> vec2f {
  let exponent = max(bitcast<u32>(largest) >> 23u, LEAST);
  return vec2f(bitcast<f32>((268u - exponent) << 23u), bitcast<f32>((exponent - 14u) << 23u)); // 2^(14 - e), where the exponent is e + 127
}

fn halves(v: vec4f) -> vec2u {
  return vec2u(pack2x16float(v.xy), pack2x16float(v.zw));
}
