// Bits of 32 codes as words whose byte j serves the j-th code of each quad, one quad above another.
fn put_plane(at: u32, first: u32, shift: u32, bits: u32, word0: u32) {
  let quads = 8u / bits;
  for (var i = 0u; i < bits; i++) {
    var word = 0u;
    for (var quad = 0u; quad < quads; quad++) {
      for (var j = 0u; j < 4u; j++) {
        let code = code_at(at, first + 4u * (i * quads + quad) + j);
        word |= ((code >> shift) & ((1u << bits) - 1u)) << (8u * j + quad * bits);
      }
    }
    put(word0 + i, word);
  }
}
