// A block of 32 values as 8 words of four signed codes and a scale: w = scale · code, scale = largest magnitude / 127 rounded to f32.
// code = 127 · w / largest magnitude, rounded exactly, halves to even.
#import "lib/level.wgsl"
const WORDS = 8u;
const LEVELS = 127u;

@group(0) @binding(3) var<storage, read_write> scales: array<f32>;

// Divides by 127, correctly rounded: the quotient of the mantissa has 24 bits if it is shifted by 7, or by 6.
fn scale_of(span: Span) -> f32 {
  let wide = span.mantissa << 7u;
  let bits = select(7u, 6u, wide / 127u >= 0x1000000u);
  let whole = span.mantissa << bits;
  let quotient = whole / 127u + select(0u, 1u, whole % 127u > 63u);
  let scale = bitcast<f32>(((span.exponent - bits) << 23u) + quotient - 0x800000u);
  return select(scale, 0.0, span.exponent < SMALLEST_EXPONENT);
}

fn encode(values: ptr<function, array<f32, 32>>, block: u32, column: u32) {
  var largest = 0.0;
  for (var i = 0u; i < 32u; i++) {
    largest = max(largest, abs((*values)[i]));
  }
  let span = span_of(largest);
  for (var i = 0u; i < WORDS; i++) {
    var word = 0u;
    for (var j = 0u; j < 4u; j++) {
      let value = (*values)[4u * i + j];
      let level = level_of(value, span);
      let magnitude = level.below + select(0u, 1u, level.side + (level.below & 1u) > 1u);
      word |= (select(magnitude, 0u - magnitude, value < 0.0) & 255u) << (8u * j);
    }
    put(i, word);
  }
  scales[block * 32u + column] = scale_of(span);
}
