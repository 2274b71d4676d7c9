// A scale in f16 for SCALED_BLOCKS blocks of 32 k's: scales[group of 32 columns][k / 32 / SCALED_BLOCKS][lane of 8][4 columns].
alias Scale = vec4f;

@group(0) @binding(2) var<storage, read> scales: array<vec2u>;

fn load_scale(block: u32, lane: u32) -> Scale {
  let halves = scales[block / SCALED_BLOCKS * 8u + lane];
  return vec4f(unpack2x16float(halves.x), unpack2x16float(halves.y));
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
