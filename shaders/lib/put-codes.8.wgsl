// 32 codes of 8 bits as lib/codes.8.wgsl reads them.
const WORDS = 8u;

fn put_codes(at: u32, first: u32) {
  for (var i = 0u; i < WORDS; i++) {
    var word = 0u;
    for (var j = 0u; j < 4u; j++) {
      word |= code_at(at, first + 4u * i + j) << (8u * j);
    }
    put(i, word);
  }
}
