// 32 codes of 4 bits as lib/codes.4.wgsl reads them.
const WORDS = 4u;

fn put_codes(at: u32, first: u32) {
  for (var i = 0u; i < WORDS; i++) {
    var word = 0u;
    for (var j = 0u; j < 8u; j++) {
      word |= code_at(at, first + 8u * i + j) << (4u * j);
    }
    put(i, word);
  }
}
