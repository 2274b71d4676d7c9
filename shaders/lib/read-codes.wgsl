// Reads pages of codes, written by lib/write-codes.wgsl. Keys and values are the numbers of codes (columns_of and digits_of of the format), times
// the factor of the token. `head` counts heads over all pages.
#import "lib/page-codes.wgsl"
@group(0) @binding(5) var<storage, read> keys: array<vec4u>;
@group(0) @binding(6) var<storage, read> values: array<vec4u>;

fn head_begin(head: u32, dims: u32) -> u32 {
  return head * (head_words(dims) / 4u);
}

// Codes of the keys of the four tokens from 4 · lane on.
fn key_words(head: u32, quad: u32, dims: u32, lane: u32) -> vec4u {
  return keys[head_begin(head, dims) + quad * 4u / WORD_DIMS * 8u + lane];
}

// Codes of the values of the four tokens from 4 · four on.
fn value_words(head: u32, four: u32, quad: u32, dims: u32) -> vec4u {
  return values[head_begin(head, dims) + four * row_words(dims) + quad * 4u / WORD_DIMS];
}

// Keys of the four tokens from 4 · lane on, at each of the dimensions 4 · quad to 4 · quad + 3.
fn key_quads(head: u32, quad: u32, dims: u32, lane: u32) -> array<vec4f, 4> {
  return columns_of(key_words(head, quad, dims, lane), quad);
}

// Values of the four tokens from 4 · four on at dimensions 4 · quad to 4 · quad + 3.
fn value_fours(head: u32, four: u32, quad: u32, dims: u32) -> array<vec4f, 4> {
  let words = value_words(head, four, quad, dims);
  return array<vec4f, 4>(
    digits_of(words.x, quad), digits_of(words.y, quad), digits_of(words.z, quad), digits_of(words.w, quad),
  );
}

// Values of the tokens 2 · pair and 2 · pair + 1 at dimensions 4 · quad to 4 · quad + 3.
fn value_quads(head: u32, pair: u32, quad: u32, dims: u32) -> array<vec4f, 2> {
  let words = value_words(head, pair / 2u, quad, dims);
  let two = select(words.xy, words.zw, pair % 2u == 1u);
  return array<vec4f, 2>(digits_of(two.x, quad), digits_of(two.y, quad));
}

// Factors of the keys, and of the values, of the four tokens from 4 · four on.
fn key_scales(head: u32, four: u32, dims: u32) -> vec4f {
  return scales_from(keys[head_begin(head, dims) + row_words(dims) * 8u + four / 2u], four);
}

fn value_scales(head: u32, four: u32, dims: u32) -> vec4f {
  return scales_from(values[head_begin(head, dims) + row_words(dims) * 8u + four / 2u], four);
}

fn scales_from(words: vec4u, four: u32) -> vec4f {
  let two = select(words.xy, words.zw, four % 2u == 1u);
  return bitcast<vec4f>(vec4u(two.x << 16u, two.x & 0xffff0000u, two.y << 16u, two.y & 0xffff0000u));
}

// Dimensions from one stored value to the next.
fn value_stride(dims: u32, value_dims: u32) -> u32 {
  return value_dims;
}
