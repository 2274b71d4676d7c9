// y = x · Wᵀ for ROWS rows of a decode step, on GPUs, of x in 8 bits: four k's are multiplied and added at once. Workgroups, slices of K and the
// order of a row's sum are those of matvec.wgsl: the sums of the slices are added in order through workgroup memory, and a row's sum depends on SLICES,
// never on ROWS. Products within what shares a scale are added as integers, so exactly.
#import "integers/$W.wgsl"
#import "lib/integer-dots.wgsl"
#import "lib/matrix.$MATRIX.wgsl"
#import "lib/product-args.wgsl"
#import "lib/rolled.wgsl"
#import "lib/store.$STORE.wgsl"

const ROWS = 1u; // at most SLICES
const TASK_ROWS = ROWS;
const SLICES = 32u;
const FILLS_REGISTERS = true;
const HELD_SUMS = 128u; // sums of eight lanes that workgroup memory holds at once, in 16 KiB
const ROUND = min(SLICES, HELD_SUMS / ROWS); // slices whose sums it holds at once

var<workgroup> sums: array<vec4f, 8u * ROUND * ROWS>;

// s[r] += code · x of each row for half a block. x0[r]: the block in row r
fn fold_half(s: ptr<function, array<vec4i, ROWS>>, x0: ptr<function, array<u32, ROWS>>, at: u32, w: Words) {
  for (var r = 0u; r < ROWS; r++) {
    let v = x[(*x0)[r] + at];
    var acc = add_dots((*s)[r], w[0], v.x);
    acc = add_dots(acc, w[1], v.y);
    acc = add_dots(acc, w[2], v.z);
    (*s)[r] = add_dots(acc, w[3], v.w);
  }
}

// Adds sums of integers to c. `at`: where their scale and sums of x are, from the first block
fn end_scale(
  c: ptr<function, array<vec4f, ROWS>>,
  s: ptr<function, array<vec4i, ROWS>>,
  x0: ptr<function, array<u32, ROWS>>,
  at: u32,
  half: u32,
  scale: Scale,
) {
  for (var r = 0u; r < ROWS; r++) {
    (*c)[r] = add_block((*c)[r], (*s)[r], x[(*x0)[r] + at], half, scale);
  }
}

@compute @workgroup_size(8u * SLICES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let tile = workgroup.x;
  if (is_idle(tile)) {
    return;
  }
  let lane = local % 8u;
  let slice = local / 8u;
  let place = place_of(tile, workgroup.y * 8u + lane);
  let row0 = tile * ROWS;
  var x0: array<u32, ROWS>;
  for (var r = 0u; r < ROWS; r++) {
    x0[r] = x_row(row0 + r) * args.x_quads;
  }

  var c: array<vec4f, ROWS>;
  for (var b = slice; b < args.blocks; b += SLICES) {
    let block = place.group * args.blocks + b;
    let at = b * X_QUADS;
    let data = load_block(block, lane);
    let first = load_half(block, 0u, lane);
    let last = load_half(block, 1u, lane);
    var s = array<vec4i, ROWS>();
    fold_half(&s, &x0, at, half_words(first, data.high, 0u));
    if (SCALED_QUADS == 4u) {
      end_scale(&c, &s, &x0, at + 2u, 0u, data.scale);
      s = array<vec4i, ROWS>();
    }
    fold_half(&s, &x0, at + 1u, half_words(last, data.high, 1u));
    end_scale(&c, &s, &x0, at + 2u, 1u, data.scale);
  }

  // Eight lanes add the sums of a row.
  var sum: vec4f;
  for (var first = 0u; first < SLICES; first += ROUND) {
    if (first > 0u) {
      workgroupBarrier();
    }
    if (slice >= first && slice < first + ROUND) {
      for (var r = loop_start(workgroup.y); r < ROWS; r++) {
        sums[(r * ROUND + slice - first) * 8u + lane] = c[r];
      }
    }
    workgroupBarrier();
    if (slice < ROWS) {
      for (var s = loop_start(workgroup.y); s < ROUND; s++) {
        sum += sums[(slice * ROUND + s) * 8u + lane];
      }
    }
  }
  if (slice < ROWS && place.inside && place.y_quad < args.y_quads) {
    store(row0 + slice, place.y_quad, sum);
  }
}
