// y = x · Wᵀ for many rows of x in 8 bits, on GPUs without matrix units: ROWS rows and 128 columns of 128 lanes, a block of 32 k's at a time through
// workgroup memory. Half of the lanes load weights, the others x. Products within what shares a scale are added as integers, and every output adds its
// blocks in order, so that a sum does not depend on ROWS. With LOADS_AHEAD the next block is loaded before the products of this one are added.
#import "integers/$W.wgsl"
#import "lib/integer-dots.wgsl"
#import "lib/matrix.$MATRIX.wgsl"
#import "lib/product-args.wgsl"
#import "lib/store.$STORE.wgsl"

const ROWS = 64u;        // 16, 32 or 64
const ROW_QUADS = 2u;    // quads of rows of a lane
const COLUMN_QUADS = 2u; // quads of columns of a lane
const LOADS_AHEAD = true;
const FILLS_REGISTERS = true;
const TASK_ROWS = ROWS;

const LANES = 128u;
const LOADERS = LANES / 2u;
const LANE_ROWS = 4u * ROW_QUADS;
const ROW_LANES = ROWS / LANE_ROWS;
const COLUMN_LANES = 32u / COLUMN_QUADS;
const HELD_X = (X_QUADS * ROWS + LOADERS - 1u) / LOADERS; // elements of x that a lane loads: 1, 2 or 3

var<workgroup> xs: array<vec4u, X_QUADS * ROWS>; // [element of a block][row]
var<workgroup> ws: array<vec4u, 2u * 4u * 32u>;  // [half of the k's][column of a quad][quad of columns]
var<workgroup> factors: array<Scale, 32u>;       // [quad of columns]

// A row of the tile, of the i-th of a lane.
fn tile_row(i: u32, row_lane: u32) -> u32 {
  return (i / 4u * ROW_LANES + row_lane) * 4u + i % 4u;
}

// What a lane holds of a block: packs of weights, or elements of x.
fn load_part(local: u32, w_block: u32, x0: u32, b: u32) -> Packs {
  if (local < LOADERS) {
    return load_half(w_block + b, local / 32u, local % 8u);
  }
  var held = Packs();
  for (var i = 0u; i < HELD_X; i++) {
    held[i] = x[x0 + b * X_QUADS + min((i * LOADERS + local % LOADERS) / ROWS, X_QUADS - 1u)];
  }
  return held;
}

fn share_part(held: Packs, data: Block, local: u32) {
  if (local >= LOADERS) {
    for (var i = 0u; i < HELD_X; i++) {
      let item = i * LOADERS + local % LOADERS;
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

// The products of 16 k's of a row and a column.
fn dot_half(w: vec4u, v: vec4u) -> i32 {
  return dot4I8Packed(w.x, v.x) + dot4I8Packed(w.y, v.y) + dot4I8Packed(w.z, v.z) + dot4I8Packed(w.w, v.w);
}

// c += the product of the block
fn add_products(c: ptr<function, array<vec4f, LANE_ROWS * COLUMN_QUADS>>, row_lane: u32, column_lane: u32) {
  for (var j = 0u; j < COLUMN_QUADS; j++) {
    let quad = j * COLUMN_LANES + column_lane;
    var s = array<vec4i, LANE_ROWS>();
    for (var half = 0u; half < 2u; half++) {
      let at = half * 128u + quad;
      let w = Words(ws[at], ws[at + 32u], ws[at + 64u], ws[at + 96u]);
      for (var i = 0u; i < LANE_ROWS; i++) {
        let v = xs[half * ROWS + tile_row(i, row_lane)];
        s[i] += vec4i(dot_half(w[0], v), dot_half(w[1], v), dot_half(w[2], v), dot_half(w[3], v));
      }
      if (half == 1u || SCALED_QUADS == 4u) {
        for (var i = 0u; i < LANE_ROWS; i++) {
          let data = xs[2u * ROWS + tile_row(i, row_lane)];
          let k = j * LANE_ROWS + i;
          (*c)[k] = add_block((*c)[k], s[i], data, half, factors[quad]);
          s[i] = vec4i(0);
        }
      }
    }
  }
}

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  if (is_idle(workgroup.y)) {
    return;
  }
  let x0 = x_row(min(workgroup.y * ROWS + local % ROWS, args.rows - 1u)) * args.x_quads;
  let w_block = place_of(workgroup.y, workgroup.x * 32u + local % 32u).group * args.blocks;
  let row_lane = local / COLUMN_LANES;
  let column_lane = local % COLUMN_LANES;
  var c: array<vec4f, LANE_ROWS * COLUMN_QUADS>;
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
    add_products(&c, row_lane, column_lane);
    workgroupBarrier();
    if (!LOADS_AHEAD) {
      held = load_part(local, w_block, x0, next);
      data = load_block(w_block + next, local % 8u);
    }
  }

  for (var j = 0u; j < COLUMN_QUADS; j++) {
    let place = place_of(workgroup.y, workgroup.x * 32u + j * COLUMN_LANES + column_lane);
    if (place.inside && place.y_quad < args.y_quads) {
      for (var i = 0u; i < LANE_ROWS; i++) {
        let row = workgroup.y * ROWS + tile_row(i, row_lane);
        if (row < args.rows) {
          store(row, place.y_quad, c[j * LANE_ROWS + i]);
        }
      }
    }
  }
}
