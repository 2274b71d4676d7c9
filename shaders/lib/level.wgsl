// Finds the place of a value among the levels that the largest magnitude of its block spans, exactly. WGSL's division may be off by 2.5 units
// in the last place, and weights of few digits (bf16) often lie exactly halfway between two levels, where one unit decides the code: near
// there, LEVELS · |value| / |largest| is computed on mantissas as integers.

const SMALLEST_EXPONENT = 8u; // a block whose largest magnitude is below 2⁻¹¹⁹ is zeros: its scale must not be subnormal

// Data of a block, with which each of its values is compared.
struct Span {
  mantissa: u32,
  exponent: u32,
  rate: f32,    // approximately LEVELS / mantissa
  inverse: f32, // approximately LEVELS / |largest|
}

struct Level {
  below: u32, // the nearest level towards zero
  side: u32,  // 0: the value is nearer to that level; 1: halfway; 2: nearer to the level above
}

fn exponent_of(value: f32) -> u32 {
  return (bitcast<u32>(value) >> 23u) & 0xffu;
}

fn mantissa_of(value: f32) -> u32 {
  return (bitcast<u32>(value) & 0x7fffffu) | 0x800000u;
}

fn span_of(largest: f32) -> Span {
  let mantissa = mantissa_of(largest);
  let exponent = exponent_of(largest);
  let inverse = select(0.0, f32(LEVELS) / abs(largest), exponent >= SMALLEST_EXPONENT);
  return Span(mantissa, exponent, f32(LEVELS) / f32(i32(mantissa)), inverse);
}

const NEAR = 2e-6 * f32(LEVELS); // bound of the error of the product below

// The level of a value of at most the largest magnitude. A value almost equal to a level may be reported as just below or just
// above it.
fn level_of(value: f32, span: Span) -> Level {
  let product = abs(value) * span.inverse;
  let below = floor(product);
  let rest = product - below;
  if (abs(rest - 0.5) < NEAR) {
    return level_near_half(value, span);
  }
  return Level(u32(i32(below)), select(0u, 2u, rest > 0.5));
}

fn level_near_half(value: f32, span: Span) -> Level {
  let shift = span.exponent - exponent_of(value);
  if (shift > 8u || span.exponent < SMALLEST_EXPONENT) {
    return Level(0u, 0u); // below half of the first of at most 127 levels
  }
  let mantissa = mantissa_of(value);
  let whole = LEVELS * mantissa; // stays below 2³¹
  let step = span.mantissa << shift;
  // Differs from the quotient by at most 1. Signed integers convert faster than unsigned ones.
  var below = u32(i32(f32(i32(mantissa)) * span.rate * bitcast<f32>((127u - shift) << 23u)));
  below -= select(0u, 1u, below * step > whole);
  var rest = whole - below * step;
  let is_short = rest >= step;
  below += select(0u, 1u, is_short);
  rest -= select(0u, step, is_short);
  return Level(below, select(0u, 1u, rest == step - rest) + select(0u, 2u, rest > step - rest));
}
