// 32 k's as lib/codes.fours.wgsl reads them.
const WORDS = 3u;

fn put_codes(at: u32, first: u32) {
  var signs = 0u;
  for (var i = 0u; i < 4u; i++) {
    signs |= signs_at(at, first / 8u + i) << (8u * i);
  }
  for (var i = 0u; i < 2u; i++) {
    var low = 0u;
    for (var j = 0u; j < 4u; j++) {
      low |= (index_at(at, first / 4u + 4u * i + j) & 255u) << (8u * j);
    }
    put(i, low);
  }
  put(2u, signs);
}
