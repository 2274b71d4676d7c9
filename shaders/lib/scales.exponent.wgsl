// An exponent of 8 bits for 32 k's, a byte each: scales[group of 32 columns][k / 32][lane of 8], four columns a word. w = 2^(exponent - 128) ·
// code, which lib/codes.e2m1.wgsl doubles. Scales below the smallest normal f32 are zero, as WGSL may take them for.
alias Scale = vec4f;

@group(0) @binding(2) var<storage, read> scales: array<u32>;

fn load_scale(block: u32, lane: u32) -> Scale {
  let exponents = (vec4u(scales[block * 8u + lane]) >> vec4u(0u, 8u, 16u, 24u)) & vec4u(255u);
  return bitcast<vec4f>((max(exponents, vec4u(1u)) - vec4u(1u)) << vec4u(23u));
}

fn scale_at(scale: Scale, quad: u32) -> Scale {
  return scale;
}

fn scaled(digit: vec4f, scale: Scale) -> vec4f {
  return digit * scale;
}

const FACTOR_QUADS = 8u; // see lib/decode.wgsl

fn term(digit: vec4f, scale: Scale) -> vec4f {
  return digit;
}

fn factor(scale: Scale) -> vec4f {
  return scale;
}
