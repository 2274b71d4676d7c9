// The four bytes of a word as floats, less OFFSET: in the mantissa of a power of two, as in codes.4.wgsl.
fn byte_digits(bytes: vec4u) -> array<vec4f, 4> {
  let upper = bytes >> vec4u(16u);
  return array<vec4f, 4>(
    bitcast<vec4f>((bytes & vec4u(0xffu)) | vec4u(0x4b000000u)) - (8388608.0 + OFFSET), // 2²³
    bitcast<vec4f>((bytes & vec4u(0xff00u)) | vec4u(0x47000000u)) - (32768.0 + OFFSET), // 2¹⁵
    bitcast<vec4f>((upper & vec4u(0xffu)) | vec4u(0x4b000000u)) - (8388608.0 + OFFSET),
    bitcast<vec4f>((upper & vec4u(0xff00u)) | vec4u(0x47000000u)) - (32768.0 + OFFSET),
  );
}
