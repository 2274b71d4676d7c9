// Pixels of a result in f32: an element holds four channels.
@group(0) @binding(5) var<storage, read_write> y: array<vec4f>;

fn put(at: u32, image: u32, v: vec4f) {
  y[at] = v;
}

fn kept(at: u32) -> vec4f {
  return y[at];
}
