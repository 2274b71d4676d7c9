// A block of 32 values as 4 words of eight codes and a scale: w = scale · (code - 8). The first value of largest magnitude lands on code 0,
// so the scale, -1/8 of it, takes its sign (the rule of GGUF's Q4_0). code = ⌊w / scale + 8.5⌋, at most 15, of the exact quotient.
#import "lib/level.wgsl"
const WORDS = 4u;
const LEVELS = 8u;

@group(0) @binding(3) var<storage, read_write> scales: array<f32>;

fn encode(values: ptr<function, array<f32, 32>>, block: u32, column: u32) {
  var extreme = 0.0;
  for (var i = 0u; i < 32u; i++) {
    let value = (*values)[i];
    extreme = select(extreme, value, abs(value) > abs(extreme));
  }
  let span = span_of(extreme);
  let sign = bitcast<u32>(extreme) >> 31u;
  for (var i = 0u; i < WORDS; i++) {
    var word = 0u;
    for (var j = 0u; j < 8u; j++) {
      let value = (*values)[8u * i + j];
      let level = level_of(value, span);
      // Codes rise from the extreme value's code 0: values of its sign have codes below 8. A value halfway takes the higher code.
      let is_below = bitcast<u32>(value) >> 31u == sign;
      let up = level.below + select(0u, 1u, level.side > 0u);
      let down = level.below + select(0u, 1u, level.side > 1u);
      word |= select(min(8u + up, 15u), 8u - down, is_below) << (4u * j);
    }
    put(i, word);
  }
  scales[block * 32u + column] = select(extreme * -0.125, 0.0, span.exponent < SMALLEST_EXPONENT);
}
