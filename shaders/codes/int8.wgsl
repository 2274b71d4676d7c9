// A block of 32 values as 8 words of four signed codes and a scale: w = scale · code, scale = largest magnitude / 127.
const WORDS = 8u;

@group(0) @binding(3) var<storage, read_write> scales: array<f32>;

fn encode(values: ptr<function, array<f32, 32>>, block: u32, column: u32) {
  var largest = 0.0;
  for (var i = 0u; i < 32u; i++) {
    largest = max(largest, abs((*values)[i]));
  }
  let scale = largest / 127.0;
  let inverse = select(0.0, 1.0 / scale, scale > 0.0);
  for (var i = 0u; i < WORDS; i++) {
    var word = 0u;
    for (var j = 0u; j < 4u; j++) {
      let code = clamp(i32(round((*values)[4u * i + j] * inverse)), -127, 127);
      word |= (bitcast<u32>(code) & 255u) << (8u * j);
    }
    put(i, word);
  }
  scales[block * 32u + column] = scale;
}
