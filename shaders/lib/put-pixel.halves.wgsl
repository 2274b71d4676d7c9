// Pixels of a result as f16 for convolutions on matrix units: an element holds four channels, multiplied by the factor of their image.
#import "lib/half-factors.wgsl"

@group(0) @binding(5) var<storage, read_write> y: array<vec2u>;
@group(0) @binding(6) var<storage, read> factors: array<vec2f>; // [image]; 16 apart

fn put(at: u32, image: u32, v: vec4f) {
  y[at] = halves(v * factors[image * 16u].x);
}

// Nothing is added to them.
fn kept(at: u32) -> vec4f {
  return vec4f(0.0);
}
