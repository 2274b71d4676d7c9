// Products of the integer codes of weights with rows of x in 8 bits (quantize-rows.wgsl). words_of (lib/codes.*) gives the codes of four columns at
// four k's, a byte each and less an offset that every code has: the sum of code · x is that of the words plus CODE_BIAS times the sum of x.
// add_scaled (lib/scales.*) adds a sum over SCALED_QUADS quads of k's, 8 or 4, that share a scale: `dot` of code · x and `sum` of x, both multiplied by
// the scale of x.
requires packed_4x8_integer_dot_product;

@group(0) @binding(0) var<storage, read> x: array<vec4u>; // [row][block of 32 k's][first 16 codes, last 16 codes, scale and sums]

const X_QUADS = 3u; // of a block
const HALF_PACKS = 16u / STEP; // packs of half a block: 1, 2 or 4

alias Packs = array<Pack, 4>;  // of half a block, one for each quad of its k's
alias Words = array<vec4u, 4>;

// `half`: 0 or 1
fn load_half(block: u32, half: u32, lane: u32) -> Packs {
  let step = half * HALF_PACKS;
  let first = load_pack(block, step, lane);
  if (HALF_PACKS == 1u) {
    return Packs(first, first, first, first);
  }
  let second = load_pack(block, step + 1u, lane);
  if (HALF_PACKS == 2u) {
    return Packs(first, first, second, second);
  }
  return Packs(first, second, load_pack(block, step + 2u, lane), load_pack(block, step + 3u, lane));
}

// [quad of k's][column]
fn half_words(packs: Packs, high: High, half: u32) -> Words {
  let quad = 4u * half;
  return Words(
    words_of(packs[0], high, quad),
    words_of(packs[1], high, quad + 1u),
    words_of(packs[2], high, quad + 2u),
    words_of(packs[3], high, quad + 3u),
  );
}

// acc + four columns' products of four k's
fn add_dots(acc: vec4i, w: vec4u, v: u32) -> vec4i {
  return acc + vec4i(dot4I8Packed(w.x, v), dot4I8Packed(w.y, v), dot4I8Packed(w.z, v), dot4I8Packed(w.w, v));
}

// The sum of x over the block of which `data` is the last element, or over half of it if half a block shares a scale.
fn sum_in(data: vec4u, half: u32) -> i32 {
  return bitcast<i32>(select(select(data.z, data.w, half == 1u), data.y, SCALED_QUADS == 8u));
}

// c + the weights' products with x. `acc`: the sums over the words.
fn add_block(c: vec4f, acc: vec4i, data: vec4u, half: u32, scale: Scale) -> vec4f {
  let sum = sum_in(data, half);
  let rate = bitcast<f32>(data.x);
  return add_scaled(c, vec4f(acc + CODE_BIAS * sum) * rate, f32(sum) * rate, scale_at(scale, 4u * half));
}
