// Factors of the keys, and of the values, of the four tokens from 4 · four on: keys and values are numbers as they are.
fn key_scales(head: u32, four: u32, dims: u32) -> vec4f {
  return vec4f(1.0);
}

fn value_scales(head: u32, four: u32, dims: u32) -> vec4f {
  return vec4f(1.0);
}
