// Fragments without matrix units: lanes read their elements from workgroup memory and add product after product in f32. It computes what
// lib/fragments.matrix.wgsl does, but for the order of a sum's products, on any adapter with f16.

alias Left = u32; // where the fragment begins in xs, and in ws
alias Right = u32;
alias Sum = array<f32, FRAGMENT_ROWS * FRAGMENT_COLUMNS / SUBGROUP>; // elements lane, lane + SUBGROUP …

// The bound of a loop over fragments, as a number that the compiler does not know: unrolled loops would take CPU drivers minutes to compile.
fn turns(count: u32) -> u32 {
  return min(count, args.blocks + count);
}

// Four f16 of two words; naga has no bitcast to f16.
fn half_of(words: vec2u) -> vec4<f16> {
  return vec4<f16>(vec4f(unpack2x16float(words.x), unpack2x16float(words.y)));
}

fn left_at(at: u32) -> Left {
  return at;
}

fn right_at(at: u32) -> Right {
  return at;
}

fn add_product(c: Sum, left: Left, right: Right, lane: u32) -> Sum {
  var sums = c;
  for (var i = 0u; i < turns(FRAGMENT_ROWS * FRAGMENT_COLUMNS / SUBGROUP); i++) {
    let element = lane + i * SUBGROUP;
    let x_at = left + element / FRAGMENT_COLUMNS * STRIDE;
    let w_at = right + element % FRAGMENT_COLUMNS * STRIDE;
    for (var quad = 0u; quad < turns(FRAGMENT_DEPTH / 4u); quad++) {
      sums[i] += dot(vec4f(xs[x_at + quad]), vec4f(ws[w_at + quad]));
    }
  }
  return sums;
}

// Keeps a fragment in ys.
fn keep(at: u32, c: Sum, lane: u32) {
  for (var i = 0u; i < turns(FRAGMENT_ROWS * FRAGMENT_COLUMNS / SUBGROUP); i++) {
    let element = lane + i * SUBGROUP;
    ys[at + element / FRAGMENT_COLUMNS * 32u + element % FRAGMENT_COLUMNS] = c[i];
  }
}

// Keeps a fragment in ys, whose rows are so many floats apart, and takes one from there.
fn keep_apart(at: u32, stride: u32, c: Sum, lane: u32) {
  for (var i = 0u; i < turns(FRAGMENT_ROWS * FRAGMENT_COLUMNS / SUBGROUP); i++) {
    let element = lane + i * SUBGROUP;
    ys[at + element / FRAGMENT_COLUMNS * stride + element % FRAGMENT_COLUMNS] = c[i];
  }
}

fn kept_at(at: u32, stride: u32, lane: u32) -> Sum {
  var c = Sum();
  for (var i = 0u; i < turns(FRAGMENT_ROWS * FRAGMENT_COLUMNS / SUBGROUP); i++) {
    let element = lane + i * SUBGROUP;
    c[i] = ys[at + element / FRAGMENT_COLUMNS * stride + element % FRAGMENT_COLUMNS];
  }
  return c;
}

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  compute_tile(workgroup, local, local / SUBGROUP, local % SUBGROUP);
}
