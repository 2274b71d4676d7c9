// Scales of two levels: for 256 k's the f16 of a column, [lane of 8][4 columns], then for each 32 of them a signed byte, [k / 32][lane of 8],
// four columns a word. w = d · scale · code.
alias Scale = vec4f;

@group(0) @binding(2) var<storage, read> scales: array<u32>;

fn load_scale(block: u32, lane: u32) -> Scale {
  let first = block / 8u * 80u;
  let a = unpack2x16float(scales[first + 2u * lane]);
  let b = unpack2x16float(scales[first + 2u * lane + 1u]);
  let minor = scales[first + 16u + block % 8u * 8u + lane];
  return vec4f(a, b) * vec4f(bitcast<vec4i>(vec4u(minor) << vec4u(24u, 16u, 8u, 0u)) >> vec4u(24u));
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
