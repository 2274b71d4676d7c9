// Codes of consecutive k's are one word as packed.
fn put_word(word0: u32, k: u32, word: u32) {
  atomicStore(&codes[word0 + k / PER * 32u], word);
}
