// A block of 32 values as 4 words of eight codes and a scale: w = scale · (code - 8). The value of largest magnitude lands on
// code 0, so the scale takes its sign (the rule of GGUF's Q4_0).
const WORDS = 4u;

@group(0) @binding(3) var<storage, read_write> scales: array<f32>;

fn encode(values: ptr<function, array<f32, 32>>, block: u32, column: u32) {
  var extreme = 0.0;
  for (var i = 0u; i < 32u; i++) {
    let value = (*values)[i];
    extreme = select(extreme, value, abs(value) > abs(extreme));
  }
  let scale = extreme / -8.0;
  let inverse = select(0.0, 1.0 / scale, scale != 0.0);
  for (var i = 0u; i < WORDS; i++) {
    var word = 0u;
    for (var j = 0u; j < 8u; j++) {
      word |= u32(clamp(floor((*values)[8u * i + j] * inverse + 8.5), 0.0, 15.0)) << (4u * j);
    }
    put(i, word);
  }
  scales[block * 32u + column] = scale;
}
