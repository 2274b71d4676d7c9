// y = x · Wᵀ for many rows of x in 8 bits, on GPUs without matrix units: ROWS rows and 128 columns a workgroup, of which a lane sums LANE_ROWS rows and four
// columns, a block of 32 k's at a time through workgroup memory. 64 lanes load weights, the others x. Products within what shares a scale are added
// as integers, and every output adds its blocks in order, so that a sum does not depend on ROWS. With LOADS_AHEAD the next block is loaded before the
// products of this one are added.
#import "integers/$W.wgsl"
#import "lib/integer-dots.wgsl"
#import "lib/matrix.$MATRIX.wgsl"
#import "lib/product-args.wgsl"
#import "lib/rolled.wgsl"
#import "lib/store.$STORE.wgsl"

const LANE_ROWS = 8u; // 4 or 8
const ROW_LANES = 8u; // lanes that share a quad of columns: 4 or 8
const ROWS = LANE_ROWS * ROW_LANES; // 16, 32 or 64
const LOADS_AHEAD = true;
const FILLS_REGISTERS = true;
const TASK_ROWS = ROWS;

const LANES = 32u * ROW_LANES; // 128 or 256
const W_LANES = 64u; // that load weights
const X_LANES = LANES - W_LANES; // a multiple of ROWS
const HELD_X = (X_QUADS * ROWS + X_LANES - 1u) / X_LANES; // elements of x that a lane loads: 1 or 2

var<workgroup> xs: array<vec4u, X_QUADS * ROWS>; // [element of a block][row]
var<workgroup> ws: array<vec4u, 2u * 4u * 32u>;  // [half of the k's][column of a quad][quad of columns]
var<workgroup> factors: array<Scale, 32u>;       // [quad of columns]

// Loads a lane's share of block b: packs of weights for the first lanes, elements of x for the others.
fn load_part(local: u32, w_block: u32, x0: u32, b: u32) -> Packs {
  if (local < W_LANES) {
    return load_half(w_block + b, local / 32u, local % 8u);
  }
  var held = Packs();
  for (var i = 0u; i < HELD_X; i++) {
    held[i] = x[x0 + b * X_QUADS + min((i * X_LANES + local - W_LANES) / ROWS, X_QUADS - 1u)];
  }
  return held;
}

fn share_part(held: Packs, data: Block, local: u32) {
  if (local >= W_LANES) {
    for (var i = 0u; i < HELD_X; i++) {
      let item = i * X_LANES + local - W_LANES;
      if (item < X_QUADS * ROWS) {
        xs[item] = held[i];
      }
    }
    return;
  }
  let half = local / 32u;
  let quad = local % 32u;
  let w = half_words(held, data.high, half);
  let at = half * 128u + quad;
  ws[at] = vec4u(w[0].x, w[1].x, w[2].x, w[3].x);
  ws[at + 32u] = vec4u(w[0].y, w[1].y, w[2].y, w[3].y);
  ws[at + 64u] = vec4u(w[0].z, w[1].z, w[2].z, w[3].z);
  ws[at + 96u] = vec4u(w[0].w, w[1].w, w[2].w, w[3].w);
  if (half == 0u) {
    factors[quad] = data.scale;
  }
}

// Adds sums of integers to c, and begins them anew.
fn end_scale(c: ptr<function, array<vec4f, LANE_ROWS>>, s: ptr<function, array<vec4i, LANE_ROWS>>, row: u32, quad: u32, half: u32) {
  for (var i = 0u; i < LANE_ROWS; i++) {
    (*c)[i] = add_block((*c)[i], (*s)[i], xs[2u * ROWS + row + i], half, factors[quad]);
    (*s)[i] = vec4i(0);
  }
}

// c += the product of the block, of the rows from this one and a quad of columns
fn add_products(c: ptr<function, array<vec4f, LANE_ROWS>>, row: u32, quad: u32) {
  var s = array<vec4i, LANE_ROWS>();
  let halves = 2u * min(args.blocks, 1u); // 2, which drivers do not unroll: that costs registers
  for (var half = 0u; half < halves; half++) {
    let at = half * 128u + quad;
    let w = Words(ws[at], ws[at + 32u], ws[at + 64u], ws[at + 96u]);
    for (var i = 0u; i < LANE_ROWS; i++) {
      let v = xs[half * ROWS + row + i];
      s[i] = add_dots(s[i], vec4u(w[0].x, w[1].x, w[2].x, w[3].x), v.x);
      s[i] = add_dots(s[i], vec4u(w[0].y, w[1].y, w[2].y, w[3].y), v.y);
      s[i] = add_dots(s[i], vec4u(w[0].z, w[1].z, w[2].z, w[3].z), v.z);
      s[i] = add_dots(s[i], vec4u(w[0].w, w[1].w, w[2].w, w[3].w), v.w);
    }
    if (SCALED_QUADS == 4u) {
      end_scale(c, &s, row, quad, half);
    }
  }
  if (SCALED_QUADS == 8u) {
    end_scale(c, &s, row, quad, 1u);
  }
}

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  if (is_idle(workgroup.y)) {
    return;
  }
  let x0 = x_row(min(workgroup.y * ROWS + local % ROWS, args.rows - 1u)) * args.x_quads;
  let w_block = place_of(workgroup.y, workgroup.x * 32u + local % 32u).group * args.blocks;
  let row = local / 32u * LANE_ROWS;
  let quad = local % 32u;
  var c: array<vec4f, LANE_ROWS>;
  var held = load_part(local, w_block, x0, 0u);
  var data = load_block(w_block, local % 8u);
  for (var b = 0u; b < args.blocks; b++) {
    share_part(held, data, local);
    workgroupBarrier();
    let next = min(b + 1u, args.blocks - 1u);
    if (LOADS_AHEAD) {
      held = load_part(local, w_block, x0, next);
      data = load_block(w_block + next, local % 8u);
    }
    add_products(&c, row, quad);
    workgroupBarrier();
    if (!LOADS_AHEAD) {
      held = load_part(local, w_block, x0, next);
      data = load_block(w_block + next, local % 8u);
    }
  }

  let place = place_of(workgroup.y, workgroup.x * 32u + quad);
  var sums = c;
  if (place.inside && place.y_quad < args.y_quads) {
    for (var i = loop_start(workgroup.y); i < LANE_ROWS; i++) {
      let y_row = workgroup.y * ROWS + row + i;
      if (y_row < args.rows) {
        store(y_row, place.y_quad, sums[i]);
      }
    }
  }
}
