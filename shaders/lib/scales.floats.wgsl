// A scale in f32 for 32 · SCALED_BLOCKS k's: scales[group of 32 columns][k / (32 · SCALED_BLOCKS)][lane of 8][4 columns].
alias Scale = vec4f;

@group(0) @binding(2) var<storage, read> scales: array<vec4f>;

fn load_scale(block: u32, lane: u32) -> Scale {
  return scales[block / SCALED_BLOCKS * 8u + lane];
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

const SCALED_QUADS = 8u; // see lib/integer-dots.wgsl

fn add_scaled(c: vec4f, dot: vec4f, sum: f32, scale: Scale) -> vec4f {
  return fma(dot, scale, c);
}
