// Scales of two levels: for 256 k's the f16 of a column, [lane of 8][4 columns], then PLANES planes of four bits for each 32 of them, [plane][lane of
// 8][4 columns], block after block from the lowest bits of a word. The first SCALE_PLANES of them are scales s of SCALE_BITS bits, and a weight's factor
// is f16 · (2 · s + 1) · UNIT; the others are the upper bits of codes.
@group(0) @binding(2) var<storage, read> scales: array<vec4u>;

fn plane_at(block: u32, lane: u32, plane: u32) -> vec4u {
  return (scales[block / 8u * (4u + 8u * PLANES) + 4u + 8u * plane + lane] >> vec4u(block % 8u * 4u)) & vec4u(15u);
}

fn upper_at(block: u32, lane: u32) -> vec4u {
  var bits = vec4u(0u);
  for (var i = SCALE_PLANES; i < PLANES; i++) {
    bits |= plane_at(block, lane, i) << vec4u(4u * (i - SCALE_PLANES));
  }
  return bits;
}

fn major_at(block: u32, lane: u32) -> vec4f {
  let pairs = scales[block / 8u * (4u + 8u * PLANES) + lane / 2u];
  let halves = select(pairs.xy, pairs.zw, lane % 2u == 1u);
  return vec4f(unpack2x16float(halves.x), unpack2x16float(halves.y)) * UNIT;
}

fn minor_at(block: u32, lane: u32, plane: u32) -> vec4f {
  return vec4f(((plane_at(block, lane, plane) & vec4u((1u << SCALE_BITS) - 1u)) << vec4u(1u)) | vec4u(1u));
}

fn scaled(digit: vec4f, scale: vec4f) -> vec4f {
  return digit * scale;
}

fn term(digit: vec4f, scale: vec4f) -> vec4f {
  return digit;
}

fn factor(scale: vec4f) -> vec4f {
  return scale;
}
