// y = x · Wᵀ for many rows, on GPUs: a workgroup computes a tile of lib/shared-tile.wgsl. With LOADS_AHEAD the next k's are loaded before the
// sums of these are added.
#import "weights/$W.wgsl"
#import "lib/matrix.$MATRIX.wgsl"
#import "lib/product-args.wgsl"
#import "lib/rolled.wgsl"
#import "lib/x-floats.wgsl"
#import "lib/shared-tile.wgsl"
#import "lib/store.$STORE.wgsl"

const TASK_ROWS = ROWS;

// First quads of four rows of x.
fn first_quads(row: u32) -> vec4u {
  let rows = min(vec4u(row) + vec4u(0u, 1u, 2u, 3u), vec4u(args.rows - 1u));
  return vec4u(x_row(rows.x), x_row(rows.y), x_row(rows.z), x_row(rows.w)) * args.x_quads;
}

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  if (is_idle(workgroup.y)) {
    return;
  }
  prepare_digits(local, LANES);
  let x_first = workgroup.y * ROWS + local / 4u % ALL_ROW_QUADS * 4u;
  let x_quad = local % 4u;
  var x0: vec4u;
  if (LOADS_AHEAD) {
    x0 = first_quads(x_first);
  }
  let w_quad = local % 32u;
  let w_step = local / 32u % STEPS;
  let w_block = place_of(workgroup.y, workgroup.x * 32u + w_quad).group * args.blocks;
  let w_lane = w_quad % 8u;

  let row_lane = local / COLUMN_LANES;
  let column_lane = local % COLUMN_LANES;
  var c: Sums;
  var held: Four;
  var data: Block;
  var pack: Pack;
  let turns = 2u * args.blocks;
  for (var next = 0u; next <= turns; next++) {
    if (LOADS_AHEAD && next > 0u) {
      share_x(held, local);
      share_w(pack, data, next - 1u, local);
      workgroupBarrier();
    }
    if (next < turns) {
      if (!LOADS_AHEAD) {
        x0 = first_quads(x_first); // computed anew, because four registers cost more
      }
      let at = x0 + vec4u(next * 4u + x_quad);
      held = Four(x[at.x], x[at.y], x[at.z], x[at.w]);
      if (!LOADS_AHEAD) {
        share_x(held, local);
      }
      data = load_block(w_block + next / 2u, w_lane);
      pack = load_pack(w_block + next / 2u, next % 2u * STEPS + w_step, w_lane);
      if (!LOADS_AHEAD) {
        share_w(pack, data, next, local);
        workgroupBarrier();
      }
    }
    if ((LOADS_AHEAD && next > 0u) || (!LOADS_AHEAD && next < turns)) {
      add_products(&c, row_lane, column_lane);
      workgroupBarrier();
    }
  }

  var sums = c; // so that the loops above keep theirs in registers
  for (var j = loop_start(workgroup.y); j < COLUMN_QUADS; j++) {
    let place = place_of(workgroup.y, workgroup.x * 32u + j * COLUMN_LANES + column_lane);
    if (place.inside && place.y_quad < args.y_quads) {
      for (var i = loop_start(workgroup.y); i < ROW_QUADS; i++) {
        let row = workgroup.y * ROWS + (i * ROW_LANES + row_lane) * 4u;
        for (var r = loop_start(workgroup.y); r < 4u; r++) {
          if (row + r < args.rows) {
            store(row + r, place.y_quad, sums[(i * COLUMN_QUADS + j) * 4u + r]);
          }
        }
      }
    }
  }
}
