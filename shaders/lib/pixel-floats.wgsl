// Pixels of a convolution's input in f32: an element holds four channels.

@group(0) @binding(0) var<storage, read> x: array<vec4f>;

fn load(at: u32, quad: u32) -> vec4f {
  return select(vec4f(0.0), x[select(0u, at + quad, at != 0xffffffffu)], at != 0xffffffffu);
}
