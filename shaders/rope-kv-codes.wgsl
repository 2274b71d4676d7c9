// The work of rope-kv.wgsl for pages of codes: a workgroup is one head of one row, since its codes follow from its largest value. Where the format
// TURNS keys, they and the queries are multiplied by a Hadamard matrix in each block of dimensions, which changes no product of the two.
// Squares of a head are added in an order that LANES alone gives.
#import "lib/head.$HEAD.wgsl"
#import "lib/pairs.$PAIRS.wgsl"
#import "lib/rope-kv.wgsl"
#import "lib/rotate.$TURNED.wgsl"
#import "lib/turned.$ROPE.wgsl"
#import "kv/encode.$CODES.wgsl"

const LANES = 32u;
const DIMS = 128u;                    // of a head in pages, a multiple of 4
const BLOCK = DIMS & (~DIMS + 1u);    // the largest power of two that divides them

var<workgroup> held: array<f32, DIMS>;
var<workgroup> partial: array<f32, LANES>;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) lane: u32) {
  let head = workgroup.x;
  let row = workgroup.y;
  let half = args.dims / 2u;
  let is_query = head < args.heads;
  let is_value = head >= args.heads + args.kv_heads;
  let base = row * args.qkv_pairs + stored_at(head) * half;

  var norm = 1.0;
  if (HEAD_NORM) {
    var sum = 0.0;
    for (var i = lane; i < half; i += LANES) {
      let v = qkv[base + i];
      sum += dot(v, v);
    }
    partial[lane] = sum;
    workgroupBarrier();
    sum = 0.0;
    for (var i = 0u; i < LANES; i++) {
      sum += partial[i];
    }
    norm = select(inverseSqrt(sum / f32(args.dims) + args.eps), 1.0, is_value && args.norm_values == 0u);
    workgroupBarrier();
  }
  if (is_value) {
    for (var d = 2u * lane; d < args.dims; d += 2u * LANES) {
      put(row, head, 0u, d, qkv[base + d / 2u] * norm);
    }
  } else {
    let scale = norm * select(1.0, args.scale * growth_of(row), is_query);
    rotate_head(row, head, 0u, base, scale, lane, LANES);
    for (var d = args.rotated + 2u * lane; d < args.dims; d += 2u * LANES) {
      put_turned(row, head, 0u, d, value(base, d, scale, is_query));
    }
  }
  for (var d = args.dims + 2u * lane; d < stored_dims(); d += 2u * LANES) {
    put(row, head, 0u, d, behind(row, head, d));
  }
  workgroupBarrier();

  if (TURNS && !is_value) {
    turn_blocks(lane);
  }
  let size = select(1.0, inverseSqrt(f32(BLOCK)), TURNS && !is_value);
  if (is_query) {
    for (var d = 2u * lane; d < DIMS; d += 2u * LANES) {
      q[row * args.q_pairs + (head * DIMS + d) / 2u] = vec2f(held[d], held[d + 1u]) * size;
    }
    if (head + 1u == args.heads) { // the last head also writes the padding after the row's columns
      for (var i = args.heads * DIMS / 2u + lane; i < args.q_pairs; i += LANES) {
        q[row * args.q_pairs + i] = vec2f(0.0);
      }
    }
    return;
  }
  let scale = scale_of(largest_held(lane) * size);
  let rate = rate_of(scale) * size;
  let page_heads = places[row] / 32u * args.kv_heads;
  let token = places[row] % 32u;
  for (var word = lane; word < row_words(DIMS); word += LANES) {
    let codes = word_of(four_held(word * WORD_DIMS) * rate, four_held(word * WORD_DIMS + 4u) * rate);
    if (is_value) {
      write_value_word(page_heads + head - args.heads - args.kv_heads, token, word, DIMS, codes);
    } else {
      write_key_word(page_heads + head - args.heads, token, word, DIMS, codes);
    }
  }
  if (lane == 0u) {
    if (is_value) {
      write_value_scale(page_heads + head - args.heads - args.kv_heads, token, DIMS, scale);
    } else {
      write_key_scale(page_heads + head - args.heads, token, DIMS, scale);
    }
  }
}

fn put(row: u32, head: u32, token: u32, d: u32, pair: vec2f) {
  held[d] = pair.x;
  held[d + 1u] = pair.y;
}

// Multiplies each block by a Hadamard matrix and the root of BLOCK.
fn turn_blocks(lane: u32) {
  var span = 1u; // a power of two
  for (; span * 4u <= BLOCK; span *= 4u) {
    for (var i = lane; i < DIMS / 4u; i += LANES) {
      let at = i + 3u * (i & ~(span - 1u));
      let near = vec2f(held[at], held[at + 2u * span]);
      let far = vec2f(held[at + span], held[at + 3u * span]);
      let sums = near + far;
      let differences = near - far;
      held[at] = sums.x + sums.y;
      held[at + span] = differences.x + differences.y;
      held[at + 2u * span] = sums.x - sums.y;
      held[at + 3u * span] = differences.x - differences.y;
    }
    workgroupBarrier();
  }
  if (span < BLOCK) {
    for (var i = lane; i < DIMS / 2u; i += LANES) {
      let at = i + (i & ~(span - 1u));
      let near = held[at];
      let far = held[at + span];
      held[at] = near + far;
      held[at + span] = near - far;
    }
    workgroupBarrier();
  }
}

// The value of the largest magnitude.
fn largest_held(lane: u32) -> f32 {
  var largest = 0.0;
  for (var d = lane; d < DIMS; d += LANES) {
    largest = select(largest, held[d], abs(held[d]) > abs(largest));
  }
  partial[lane] = largest;
  workgroupBarrier();
  largest = 0.0;
  for (var i = 0u; i < LANES; i++) {
    largest = select(largest, partial[i], abs(partial[i]) > abs(largest));
  }
  return largest;
}

// Four dimensions from d on, which is a multiple of 4; zeros behind the head.
fn four_held(d: u32) -> vec4f {
  let at = min(d, DIMS - 4u);
  return select(vec4f(0.0), vec4f(held[at], held[at + 1u], held[at + 2u], held[at + 3u]), d < DIMS);
}
