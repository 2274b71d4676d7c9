// Where a value of a block lies among the levels that the block's largest magnitude spans, exactly: LEVELS · |value| / |largest| is
// computed on mantissas as integers. WGSL's division may be off by 2.5 units in the last place, and weights of few digits (bf16) often lie
// exactly halfway between two levels, where one unit decides the code.

const SMALLEST_EXPONENT = 8u; // a block whose largest magnitude is below 2⁻¹¹⁹ is zeros: its scale must not be subnormal

// What all values of a block are held against.
struct Span {
  mantissa: u32,
  exponent: u32,
  rate: f32, // LEVELS / mantissa, nearly
}

struct Level {
  below: u32, // the level next to the value, towards zero
  side: u32,  // the value is nearer to it: 0, halfway: 1, nearer to the level above: 2
}

fn exponent_of(value: f32) -> u32 {
  return (bitcast<u32>(value) >> 23u) & 0xffu;
}

fn mantissa_of(value: f32) -> u32 {
  return (bitcast<u32>(value) & 0x7fffffu) | 0x800000u;
}

fn span_of(largest: f32) -> Span {
  let mantissa = mantissa_of(largest);
  return Span(mantissa, exponent_of(largest), f32(LEVELS) / f32(i32(mantissa)));
}

// For a value of at most the largest magnitude.
fn level_of(value: f32, span: Span) -> Level {
  let shift = span.exponent - exponent_of(value);
  if (shift > 8u || span.exponent < SMALLEST_EXPONENT) {
    return Level(0u, 0u); // less than half of the first of at most 127 levels
  }
  let mantissa = mantissa_of(value);
  let whole = LEVELS * mantissa; // < 2³¹
  let step = span.mantissa << shift;
  // Within 1 of the quotient. Signed integers convert faster than unsigned ones.
  var below = u32(i32(f32(i32(mantissa)) * span.rate * bitcast<f32>((127u - shift) << 23u)));
  below -= select(0u, 1u, below * step > whole);
  var rest = whole - below * step;
  let is_short = rest >= step;
  below += select(0u, 1u, is_short);
  rest -= select(0u, step, is_short);
  return Level(below, select(0u, 1u, rest == step - rest) + select(0u, 2u, rest > step - rest));
}
