// 32 k's as lib/codes.ternary.wgsl reads them.
const WORDS = 1u;

fn put_codes(at: u32, first: u32) {
  var low = 0u;
  for (var i = 0u; i < 4u; i++) {
    low |= (index_at(at, first / 8u + i) & 255u) << (8u * i);
  }
  put(0u, low);
}
