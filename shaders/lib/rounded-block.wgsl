// Blocks of 32 k's in 8 bits, for products with integer codes of weights: a scale, which is a 127th of the largest magnitude, and the rounded multiples
// of it. A block depends on nothing else. One whose largest magnitude is below LEAST is zeros: its scale must not be subnormal.
requires packed_4x8_integer_dot_product;

const INTERLEAVED = false; // of eight k's, the first word has those at 0, 2, 4 and 6, as codes of 4 bits are unpacked
const LEAST = 1e-30;
const STEP_SIZE = 0.007874015748031496; // 1 / 127
const ONES = 0x01010101u;
const Y_QUADS = 3u; // of a block

alias Values = array<vec4f, 8>; // of the k's of a block

// [row][block][16 codes, 16 codes, then the scale in f32, the codes' sum, that of the first 16 and that of the last 16]
@group(0) @binding(1) var<storage, read_write> y: array<vec4u>;

// The words of eight k's.
fn two_words(first: vec4f, second: vec4f, inverse: f32) -> vec2u {
  let a = vec4i(round(first * inverse));
  let b = vec4i(round(second * inverse));
  if (INTERLEAVED) {
    return vec2u(pack4xI8(vec4i(a.xz, b.xz)), pack4xI8(vec4i(a.yw, b.yw)));
  }
  return vec2u(pack4xI8(a), pack4xI8(b));
}

fn sum_of(words: vec4u) -> i32 {
  return dot4I8Packed(words.x, ONES) + dot4I8Packed(words.y, ONES) + dot4I8Packed(words.z, ONES) + dot4I8Packed(words.w, ONES);
}

fn put_block(y0: u32, v: Values) {
  let first_half = max(max(abs(v[0]), abs(v[1])), max(abs(v[2]), abs(v[3])));
  let last_half = max(max(abs(v[4]), abs(v[5])), max(abs(v[6]), abs(v[7])));
  let most = max(first_half, last_half);
  let largest = max(max(most.x, most.y), max(most.z, most.w));
  let is_zero = largest < LEAST;
  let inverse = select(127.0 / max(largest, LEAST), 0.0, is_zero);
  let first = vec4u(two_words(v[0], v[1], inverse), two_words(v[2], v[3], inverse));
  let last = vec4u(two_words(v[4], v[5], inverse), two_words(v[6], v[7], inverse));
  let sums = vec2i(sum_of(first), sum_of(last));
  y[y0] = first;
  y[y0 + 1u] = last;
  y[y0 + 2u] = vec4u(
    bitcast<u32>(select(largest * STEP_SIZE, 0.0, is_zero)),
    bitcast<u32>(sums.x + sums.y),
    bitcast<u32>(sums.x),
    bitcast<u32>(sums.y),
  );
}

// Zeros behind the last block of a row; `first`, `end`: quads.
fn put_padding(first: u32, end: u32) {
  for (var at = first; at < min(first + Y_QUADS, end); at++) {
    y[at] = vec4u(0u);
  }
}
