// Rows of x in 8 bits, for products with integer codes of weights: for each block of 32 k's the scale, a 127th of the largest magnitude, and the
// rounded multiples of it. A block depends on nothing else. A block whose largest magnitude is below LEAST is zeros: its scale must not be subnormal.
requires packed_4x8_integer_dot_product;

struct Args {
  x_quads: u32, // quads from one row of x to the next
  y_quads: u32, // quads of words from one row of y to the next
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
// [row][block][16 codes, 16 codes, then the scale in f32, the codes' sum, that of the first 16 and that of the last 16]
@group(0) @binding(1) var<storage, read_write> y: array<vec4u>;
@group(0) @binding(2) var<uniform> args: Args;

const LANES = 32u;
const INTERLEAVED = false; // of eight k's, the first word has those at 0, 2, 4 and 6, as codes of 4 bits are unpacked
const LEAST = 1e-30;
const STEP_SIZE = 0.007874015748031496; // 1 / 127
const ONES = 0x01010101u;

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

fn largest_in(v: vec4f) -> f32 {
  return max(max(v.x, v.y), max(v.z, v.w));
}

// A lane per block.
@compute @workgroup_size(LANES)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let block = id.x;
  let row = id.y;
  let at = 3u * block;
  if (at >= args.y_quads) {
    return;
  }
  let y0 = row * args.y_quads + at;
  if (8u * block >= args.x_quads) {
    for (var i = 0u; i < 3u && at + i < args.y_quads; i++) {
      y[y0 + i] = vec4u(0u); // padding
    }
    return;
  }
  let x0 = row * args.x_quads + 8u * block;
  let a = x[x0];
  let b = x[x0 + 1u];
  let c = x[x0 + 2u];
  let d = x[x0 + 3u];
  let e = x[x0 + 4u];
  let f = x[x0 + 5u];
  let g = x[x0 + 6u];
  let h = x[x0 + 7u];
  let most = max(max(max(abs(a), abs(b)), max(abs(c), abs(d))), max(max(abs(e), abs(f)), max(abs(g), abs(h))));
  let largest = largest_in(most);
  let is_zero = largest < LEAST;
  let inverse = select(127.0 / max(largest, LEAST), 0.0, is_zero);
  let first = vec4u(two_words(a, b, inverse), two_words(c, d, inverse));
  let last = vec4u(two_words(e, f, inverse), two_words(g, h, inverse));
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
