// y = x · Wᵀ for ROWS rows of a decode step, on GPUs. A workgroup has one group of 32 columns and all of K: eight lanes own four columns
// each, and slice s of SLICES such lanes takes every SLICES-th block of k's. Four packs are loaded before any is used, the scales of a
// block once. The sums of the slices are added in order through workgroup memory. A row's sum depends on SLICES, never on ROWS, and
// nothing is assumed about subgroups. Workgroups that share weights follow one another, so that the later ones find them in the cache.
#import "weights/$W.wgsl"
#import "lib/few-args.wgsl"
#import "lib/matrix.$MATRIX.wgsl"
#import "lib/norm.$NORM.wgsl"
#import "lib/rolled.wgsl"
#import "lib/store.$STORE.wgsl"

const ROWS = 1u; // at most SLICES
const TASK_ROWS = ROWS;
const SLICES = 32u;
const FILLS_REGISTERS = true;
const STEPS = 32u / STEP; // of a block: 2, 4 or 8
const ROUND = min(SLICES, min(HELD_SUMS, select(128u, 64u, TABLED)) / ROWS); // slices whose sums workgroup memory holds at once

var<workgroup> sums: array<vec4f, 8u * ROUND * ROWS>;

// c[r] += x · w of each row for the k's of one pack, whose first quad in its block is `quad`; x0[r]: the first quad of row r
fn fold_pack(c: ptr<function, array<vec4f, ROWS>>, x0: ptr<function, array<u32, ROWS>>, b: u32, quad: u32, pack: Pack, data: Block) {
  for (var h = 0u; h < STEP / 4u; h++) {
    let w = terms(pack, data, quad + h);
    for (var r = 0u; r < ROWS; r++) {
      let xs = x_quad((*x0)[r], b * 8u, quad + h);
      var acc = fma(vec4f(xs.x), w[0], (*c)[r]);
      acc = fma(vec4f(xs.y), w[1], acc);
      acc = fma(vec4f(xs.z), w[2], acc);
      (*c)[r] = fma(vec4f(xs.w), w[3], acc);
    }
  }
}

// Sums that share a factor begin at zero, sums of weights where those before them end.
fn begin_factor(c: ptr<function, array<vec4f, ROWS>>) -> array<vec4f, ROWS> {
  if (FACTOR_QUADS == 0u) {
    return *c;
  }
  return array<vec4f, ROWS>();
}

// Adds sums of terms to c; `quad`: one of theirs.
fn end_factor(c: ptr<function, array<vec4f, ROWS>>, s: ptr<function, array<vec4f, ROWS>>, data: Block, quad: u32) {
  let factor = factor_at(data, quad);
  for (var r = 0u; r < ROWS; r++) {
    (*c)[r] = select(fma((*s)[r], factor, (*c)[r]), (*s)[r], FACTOR_QUADS == 0u);
  }
}

@compute @workgroup_size(8u * SLICES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let tile = workgroup.x;
  if (is_idle(tile)) {
    return;
  }
  prepare_digits(local, 8u * SLICES);
  let lane = local % 8u;
  let slice = local / 8u;
  let place = place_of(tile, workgroup.y * 8u + lane);
  let row0 = tile * ROWS;
  var x0: array<u32, ROWS>;
  for (var r = 0u; r < ROWS; r++) {
    x0[r] = x_row(row0 + r) * args.x_quads;
  }

  // Packs are variables of their own, because drivers keep an array in memory if they do not unroll the loop that indexes it.
  var c: array<vec4f, ROWS>;
  var squares: array<f32, ROWS>;
  for (var b = slice; b < args.blocks; b += SLICES) {
    let block = place.group * args.blocks + b;
    let data = load_block(block, lane);
    add_squares(&squares, &x0, b * 8u + lane);
    var s = begin_factor(&c);
    for (var step = 0u; step < select(STEPS, args.steps, STEPS == 8u); step += 4u) {
      let quad = step * (STEP / 4u);
      let pack0 = load_pack(block, step, lane);
      let pack1 = load_pack(block, step + 1u, lane);
      if (STEPS == 2u) {
        fold_pack(&s, &x0, b, quad, pack0, data);
        if (FACTOR_QUADS == 4u) {
          end_factor(&c, &s, data, 0u);
          s = begin_factor(&c);
        }
        fold_pack(&s, &x0, b, quad + STEP / 4u, pack1, data);
      } else {
        let pack2 = load_pack(block, step + 2u, lane);
        let pack3 = load_pack(block, step + 3u, lane);
        fold_pack(&s, &x0, b, quad, pack0, data);
        fold_pack(&s, &x0, b, quad + STEP / 4u, pack1, data);
        if (FACTOR_QUADS == 4u) {
          end_factor(&c, &s, data, 0u);
          s = begin_factor(&c);
        }
        fold_pack(&s, &x0, b, quad + 2u * (STEP / 4u), pack2, data);
        fold_pack(&s, &x0, b, quad + 3u * (STEP / 4u), pack3, data);
      }
    }
    end_factor(&c, &s, data, 4u);
  }

  // Eight lanes add the sums of a row.
  var sum: vec4f;
  var square = 0.0;
  for (var first = 0u; first < SLICES; first += ROUND) {
    if (first > 0u) {
      workgroupBarrier();
    }
    if (slice >= first && slice < first + ROUND) {
      for (var r = loop_start(workgroup.y); r < ROWS; r++) {
        let at = (r * ROUND + slice - first) * 8u + lane;
        sums[at] = c[r];
        share_squares(at, squares[r]);
      }
    }
    workgroupBarrier();
    if (slice < ROWS) {
      for (var s = loop_start(workgroup.y); s < ROUND; s++) {
        let at = (slice * ROUND + s) * 8u + lane;
        sum += sums[at];
        square += shared_square(at);
      }
    }
  }
  sum = normed(sum, square, row0 + slice, slice, lane);
  if (slice < ROWS && place.inside && place.y_quad < args.y_quads) {
    store(row0 + slice, place.y_quad, sum);
  }
}
