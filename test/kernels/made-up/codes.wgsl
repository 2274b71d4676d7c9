// A block of 32 values as 4 words of eight codes, a scale and a minimum. Values that are codes times a power of two are held exactly.
const WORDS = 4u;

@group(0) @binding(3) var<storage, read_write> scales: array<f32>;

fn encode(values: ptr<function, array<f32, 32>>, block: u32, column: u32) {
  var least = (*values)[0];
  var most = least;
  for (var i = 1u; i < 32u; i++) {
    least = min(least, (*values)[i]);
    most = max(most, (*values)[i]);
  }
  let scale = (most - least) / 15.0;
  for (var i = 0u; i < WORDS; i++) {
    var word = 0u;
    for (var j = 0u; j < 8u; j++) {
      let code = select(0.0, round(((*values)[8u * i + j] - least) / scale), scale > 0.0);
      word |= u32(clamp(code, 0.0, 15.0)) << (4u * j);
    }
    put(i, word);
  }
  scales[block * 64u + column] = scale;
  scales[block * 64u + 32u + column] = least;
}
