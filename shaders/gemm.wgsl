// y = x · Wᵀ for many rows, on GPUs: a workgroup computes a tile of lib/shared-tile.wgsl. The next k's are loaded before the sums of these are
// added.
#import "weights/$W.wgsl"
#import "lib/matrix.$MATRIX.wgsl"
#import "lib/product-args.wgsl"
#import "lib/x-floats.wgsl"
#import "lib/shared-tile.wgsl"
#import "lib/store.$STORE.wgsl"

const TASK_ROWS = ROWS;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  if (is_idle(workgroup.y)) {
    return;
  }
  // Each lane loads four k's of four rows of x, and a pack of weights of four columns.
  let x_row_quad = local / 4u;
  let x_quad = local % 4u;
  var x0: array<u32, 4>;
  for (var i = 0u; i < 4u; i++) {
    x0[i] = x_row(min(workgroup.y * ROWS + x_row_quad % ALL_ROW_QUADS * 4u + i, args.rows - 1u)) * args.x_quads + x_quad;
  }
  let w_quad = local % 32u;
  let w_step = local / 32u % STEPS;
  let w_block = place_of(workgroup.y, workgroup.x * 32u + w_quad).group * args.blocks;
  let w_lane = w_quad % 8u;

  let row_lane = local / COLUMN_LANES;
  let column_lane = local % COLUMN_LANES;
  var c: Sums;
  var held = Four(x[x0[0]], x[x0[1]], x[x0[2]], x[x0[3]]);
  var data = load_block(w_block, w_lane);
  var pack = load_pack(w_block, w_step, w_lane);
  let turns = 2u * args.blocks;
  for (var turn = 0u; turn < turns; turn++) {
    if (local < ROWS) {
      share_x(held, x_quad, x_row_quad);
    }
    if (local < 32u * STEPS) {
      share_w(pack, data, turn % 2u * 4u, w_step, w_quad);
    }
    workgroupBarrier();
    let next = turn + 1u;
    if (next < turns) {
      held = Four(x[x0[0] + next * 4u], x[x0[1] + next * 4u], x[x0[2] + next * 4u], x[x0[3] + next * 4u]);
      data = load_block(w_block + next / 2u, w_lane);
      pack = load_pack(w_block + next / 2u, next % 2u * STEPS + w_step, w_lane);
    }
    add_products(&c, row_lane, column_lane);
    workgroupBarrier();
  }

  for (var j = 0u; j < COLUMN_QUADS; j++) {
    let place = place_of(workgroup.y, workgroup.x * 32u + j * COLUMN_LANES + column_lane);
    if (place.inside && place.y_quad < args.y_quads) {
      for (var i = 0u; i < ROW_QUADS; i++) {
        let row = workgroup.y * ROWS + (i * ROW_LANES + row_lane) * 4u;
        for (var r = 0u; r < 4u; r++) {
          if (row + r < args.rows) {
            store(row + r, place.y_quad, c[(i * COLUMN_QUADS + j) * 4u + r]);
          }
        }
      }
    }
  }
}
