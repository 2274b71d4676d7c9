// A scale in f32 and a zero point of 8 bits for 32 · SCALED_BLOCKS k's: for 32 columns the scales, [lane of 8][4 columns], then the zero points,
// [lane of 8], four columns a word. w = scale · (code - zero).
struct Scale {
  factor: vec4f,
  zero: vec4f,
}

@group(0) @binding(2) var<storage, read> scales: array<vec4u>;

fn load_scale(block: u32, lane: u32) -> Scale {
  let first = block / SCALED_BLOCKS * 10u;
  let zeros = scales[first + 8u + lane / 4u][lane % 4u];
  return Scale(
    bitcast<vec4f>(scales[first + lane]),
    vec4f((vec4u(zeros) >> vec4u(0u, 8u, 16u, 24u)) & vec4u(255u)),
  );
}

fn scale_at(scale: Scale, quad: u32) -> Scale {
  return scale;
}

fn scaled(digit: vec4f, scale: Scale) -> vec4f {
  return (digit - scale.zero) * scale.factor;
}

const FACTOR_QUADS = 8u; // see lib/decode.wgsl

fn term(digit: vec4f, scale: Scale) -> vec4f {
  return digit - scale.zero;
}

fn factor(scale: Scale) -> vec4f {
  return scale.factor;
}

const SCALED_QUADS = 8u; // see lib/integer-dots.wgsl

fn add_scaled(c: vec4f, dot: vec4f, sum: f32, scale: Scale) -> vec4f {
  return fma(fma(vec4f(-sum), scale.zero, dot), scale.factor, c);
}
