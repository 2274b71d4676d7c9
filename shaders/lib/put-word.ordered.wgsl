// Each k has a place of its own; other invocations write the rest of its word at the same time.
@group(0) @binding(3) var<storage, read> places: array<u32>;

fn put_word(word0: u32, k: u32, word: u32) {
  for (var i = 0u; i < PER; i++) {
    let place = places[k + i];
    let at = word0 + place / PER * 32u;
    let shift = place % PER * BITS;
    atomicAnd(&codes[at], ~(MASK << shift));
    atomicOr(&codes[at], ((word >> (i * BITS)) & MASK) << shift);
  }
}
