// Pixels of a convolution's input as f16, each image multiplied by a factor: an element holds eight channels.

@group(0) @binding(0) var<storage, read> x: array<vec4u>;
@group(0) @binding(8) var<storage, read> factors: array<vec2f>; // [image]: the factor and the one that undoes it; 16 apart

fn load(at: u32, eighth: u32) -> vec4u {
  return select(vec4u(0u), x[select(0u, at + eighth, at != 0xffffffffu)], at != 0xffffffffu);
}

fn factor_of(image: u32) -> f32 {
  return factors[image * 16u].y;
}
