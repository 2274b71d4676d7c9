// Scales and minima of two levels: for 256 k's the two f16 of a column, [lane of 8][4 columns], then for each 32 of them a byte for the first
// 16 k's and one for the others, four bits of scale and four of minimum, [k / 32][lane of 8][4 columns]. w = d · scale · code - dmin · minimum.
struct Part {
  factor: vec4f,
  minimum: vec4f,
}
alias Scale = array<Part, 2>;

@group(0) @binding(2) var<storage, read> scales: array<vec2u>;

fn load_scale(block: u32, lane: u32) -> Scale {
  let first = block / 8u * 80u;
  let major0 = scales[first + 2u * lane];
  let major1 = scales[first + 2u * lane + 1u];
  let a = unpack2x16float(major0.x);
  let b = unpack2x16float(major0.y);
  let c = unpack2x16float(major1.x);
  let d = unpack2x16float(major1.y);
  let factor = vec4f(a.x, b.x, c.x, d.x);
  let minimum = vec4f(a.y, b.y, c.y, d.y);
  let pairs = scales[first + 16u + block % 8u * 8u + lane];
  let minor = vec4u(pairs.x, pairs.x >> 16u, pairs.y, pairs.y >> 16u);
  return Scale(
    Part(factor * vec4f(minor & vec4u(15u)), minimum * vec4f((minor >> vec4u(4u)) & vec4u(15u))),
    Part(factor * vec4f((minor >> vec4u(8u)) & vec4u(15u)), minimum * vec4f((minor >> vec4u(12u)) & vec4u(15u))),
  );
}

fn scale_at(scale: Scale, quad: u32) -> Part {
  return Part(
    select(scale[0].factor, scale[1].factor, quad >= 4u),
    select(scale[0].minimum, scale[1].minimum, quad >= 4u),
  );
}

fn scaled(digit: vec4f, part: Part) -> vec4f {
  return fma(digit, part.factor, -part.minimum); // the product is exact
}

const FACTOR_QUADS = 0u; // see lib/decode.wgsl

fn term(digit: vec4f, scale: Part) -> vec4f {
  return scaled(digit, scale);
}

fn factor(scale: Part) -> vec4f {
  return vec4f(1.0);
}

const SCALED_QUADS = 4u; // see lib/integer-dots.wgsl

fn add_scaled(c: vec4f, dot: vec4f, sum: f32, part: Part) -> vec4f {
  return fma(dot, part.factor, fma(vec4f(-sum), part.minimum, c));
}
