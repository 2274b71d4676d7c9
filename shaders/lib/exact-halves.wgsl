// Conversions between halves and f32 by integers, for adapters whose own ones take subnormal halves for zero, as scales of K-quants and codes in
// e4m3 often are. The linker appends this file for them: a function of a module hides the built-in one of the same name.

fn unpack2x16float(word: u32) -> vec2f {
  return vec2f(half_value(word & 0xffffu), half_value(word >> 16u));
}

fn half_value(half: u32) -> f32 {
  let magnitude = half & 0x7fffu;
  // A subnormal half is a multiple of 2^-24, which is a normal f32; an exponent of 31 is that of infinity and of what is no number.
  let normal = (magnitude << 13u) + select(112u << 23u, 224u << 23u, magnitude >= 0x7c00u);
  let subnormal = bitcast<u32>(f32(magnitude) * 0x1p-24f);
  return bitcast<f32>(select(normal, subnormal, magnitude < 0x400u) | ((half & 0x8000u) << 16u));
}

fn pack2x16float(values: vec2f) -> u32 {
  return half_of(values.x) | (half_of(values.y) << 16u);
}

// The nearest half, of two the even one.
fn half_of(value: f32) -> u32 {
  let bits = bitcast<u32>(value);
  let magnitude = bits & 0x7fffffffu;
  let rounded = (magnitude + 0xfffu + ((magnitude >> 13u) & 1u)) >> 13u;
  let normal = min(rounded - min(rounded, 112u << 10u), 0x7c00u);
  let subnormal = u32(round(min(abs(value), 1.0) * 0x1p24f));
  let finite = select(normal, subnormal, magnitude < 0x38800000u);
  return select(finite, 0x7e00u, magnitude > 0x7f800000u) | ((bits >> 16u) & 0x8000u);
}
