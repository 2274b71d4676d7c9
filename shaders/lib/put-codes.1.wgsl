// 32 codes of one bit as lib/codes.1.wgsl reads them.
const WORDS = 1u;

fn put_codes(at: u32, first: u32) {
  var word = 0u;
  for (var i = 0u; i < 32u; i++) {
    word |= code_at(at, first + i) << i;
  }
  put(0u, word);
}
