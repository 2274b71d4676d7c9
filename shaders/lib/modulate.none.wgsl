// A norm without modulation.
fn modulate(v: vec4f, row: u32, quad: u32) -> vec4f {
  return v;
}
