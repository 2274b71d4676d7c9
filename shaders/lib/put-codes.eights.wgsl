// 32 k's as lib/codes.eights.wgsl reads them.
const WORDS = 2u;

fn put_codes(at: u32, first: u32) {
  for (var i = 0u; i < WORDS; i++) {
    let eight = first / 8u + 2u * i;
    let low = (index_at(at, eight) & 255u) | ((index_at(at, eight + 1u) & 255u) << 8u);
    put(i, low | (signs_at(at, eight) << 16u) | (signs_at(at, eight + 1u) << 24u));
  }
}
