// Scales, and upper bits of codes, as lib/nibble-planes.wgsl reads them: PLANES planes.
#import "lib/put-scales.wgsl"

fn put_scales(at: u32, b: u32, block: u32, column: u32) {
  let first = block / 8u * (16u + 32u * PLANES); // word
  put_half(2u * first + column, major_bits(at));
  for (var i = 0u; i < PLANES; i++) {
    put_bits(first + 16u + 32u * i + column, 4u * b, 15u, plane_bits(at, b, i));
  }
}
