// Values out of keys, of which four tokens of a dimension lie together.

// Values of the tokens 2 · pair and 2 · pair + 1 at dimensions 4 · quad to 4 · quad + 3; `dims`: those of a key.
fn value_quads(head: u32, pair: u32, quad: u32, dims: u32) -> array<vec4f, 2> {
  let four = key_quads(head, quad, dims, pair / 2u);
  let odd = pair % 2u == 1u;
  let first = select(four[0].xy, four[0].zw, odd);
  let second = select(four[1].xy, four[1].zw, odd);
  let third = select(four[2].xy, four[2].zw, odd);
  let fourth = select(four[3].xy, four[3].zw, odd);
  return array<vec4f, 2>(vec4f(first.x, second.x, third.x, fourth.x), vec4f(first.y, second.y, third.y, fourth.y));
}

// Values of the four tokens from 4 · four on at dimensions 4 · quad to 4 · quad + 3.
fn value_fours(head: u32, four: u32, quad: u32, dims: u32) -> array<vec4f, 4> {
  let keys = key_quads(head, quad, dims, four);
  return array<vec4f, 4>(
    vec4f(keys[0].x, keys[1].x, keys[2].x, keys[3].x),
    vec4f(keys[0].y, keys[1].y, keys[2].y, keys[3].y),
    vec4f(keys[0].z, keys[1].z, keys[2].z, keys[3].z),
    vec4f(keys[0].w, keys[1].w, keys[2].w, keys[3].w),
  );
}

// Dimensions of the keys that values are the first ones of.
fn value_stride(dims: u32, value_dims: u32) -> u32 {
  return dims;
}
