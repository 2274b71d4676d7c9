// Writes pages of codes for lib/read-codes.wgsl. A word of factors is that of two tokens, which invocations of two rows write; everything else has
// one writer. `head` counts heads over all pages.
#import "lib/page-codes.wgsl"
@group(0) @binding(6) var<storage, read_write> keys: array<atomic<u32>>;
@group(0) @binding(7) var<storage, read_write> values: array<atomic<u32>>;

fn write_key_word(head: u32, token: u32, word: u32, dims: u32, codes: u32) {
  atomicStore(&keys[head * head_words(dims) + word * 32u + token], codes);
}

fn write_value_word(head: u32, token: u32, word: u32, dims: u32, codes: u32) {
  let at = (token / 4u * row_words(dims) + word) * 4u + token % 4u;
  atomicStore(&values[head * head_words(dims) + at], codes);
}

fn write_key_scale(head: u32, token: u32, dims: u32, scale: f32) {
  let at = head * head_words(dims) + row_words(dims) * 32u + token / 2u;
  atomicAnd(&keys[at], ~own_half(token, 0xffff0000u));
  atomicOr(&keys[at], own_half(token, bitcast<u32>(scale)));
}

fn write_value_scale(head: u32, token: u32, dims: u32, scale: f32) {
  let at = head * head_words(dims) + row_words(dims) * 32u + token / 2u;
  atomicAnd(&values[at], ~own_half(token, 0xffff0000u));
  atomicOr(&values[at], own_half(token, bitcast<u32>(scale)));
}

// The upper half of `bits` at the token's place in its word.
fn own_half(token: u32, bits: u32) -> u32 {
  return select(bits >> 16u, bits & 0xffff0000u, token % 2u == 1u);
}

// A factor as it is stored: the next number that has 16 bits and is not smaller in magnitude; 0 for those whose reciprocal is not finite, and for
// what is not finite.
fn stored_scale(scale: f32) -> f32 {
  let bits = bitcast<u32>(scale);
  let magnitude = ((bits & 0x7fffffffu) + 0xffffu) & 0xffff0000u;
  let is_normal = magnitude >= 0x01000000u && magnitude < 0x7e800000u;
  return bitcast<f32>(select(0u, (bits & 0x80000000u) | magnitude, is_normal));
}
