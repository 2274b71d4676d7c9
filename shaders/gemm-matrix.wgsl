// y = x · Wᵀ for many rows, on matrix units: a workgroup computes a tile of lib/matrix-tile.wgsl. Rows of x come from halve-rows.wgsl; weights are
// rounded to f16, and sums are f32. With LOADS_AHEAD the next k's are loaded before the products of these are added.
#import "weights/$W.wgsl"
#import "lib/matrix.$MATRIX.wgsl"
#import "lib/product-args.wgsl"
#import "lib/x-halves.wgsl"
#import "lib/matrix-tile.wgsl"
#import "lib/store.$STORE.wgsl"
enable f16;

const TASK_ROWS = ROWS;

fn compute_tile(workgroup: vec3u, local: u32, subgroup: u32, lane: u32) {
  if (is_idle(workgroup.y)) {
    return;
  }
  prepare_digits(local, LANES);
  // Each lane loads eight k's of each of some rows of x, and packs of weights of four columns.
  let eighth = local % 4u;
  var x0: array<u32, HELD_ROWS>;
  for (var i = 0u; i < HELD_ROWS; i++) {
    let row = workgroup.y * ROWS + (i * LANES + local) / 4u;
    x0[i] = x_row(min(row, args.rows - 1u)) * args.x_quads + eighth;
  }
  let w_lane = local % 8u;
  let w_step = local / 8u % STEPS;
  var w_group: array<u32, HELD_PACKS>;
  var w_block: array<u32, HELD_PACKS>;
  for (var i = 0u; i < HELD_PACKS; i++) {
    w_group[i] = (i * LANES + local) / (8u * STEPS) % 4u;
    w_block[i] = place_of(workgroup.y, workgroup.x * 32u + w_group[i] * 8u + w_lane).group * args.blocks;
  }

  let row = subgroup / PARTS_ACROSS * PART_ROWS;
  let column = subgroup % PARTS_ACROSS * PART_COLUMNS;
  var c: Sums;
  var held: array<vec4u, HELD_ROWS>;
  var data: array<Block, HELD_PACKS>;
  var packs: array<Pack, HELD_PACKS>;
  if (LOADS_AHEAD) {
    load_turn(&held, &packs, &data, 0u, x0, w_block, w_step, w_lane);
  }
  for (var block = 0u; block < args.blocks; block++) {
    if (!LOADS_AHEAD) {
      load_turn(&held, &packs, &data, block, x0, w_block, w_step, w_lane);
    }
    share_turn(held, packs, data, local, w_step, w_group);
    workgroupBarrier();
    if (LOADS_AHEAD) {
      load_turn(&held, &packs, &data, min(block + 1u, args.blocks - 1u), x0, w_block, w_step, w_lane);
    }
    add_products(&c, row, column, lane);
    workgroupBarrier();
  }

  // A row of fragments of 32 columns at a time.
  for (var i = 0u; i < turns(ROW_FRAGMENTS); i++) {
    for (var group = 0u; group < turns(PART_COLUMNS / 32u); group++) {
      for (var j = 0u; j < turns(32u / FRAGMENT_COLUMNS); j++) {
        let at = subgroup * FRAGMENT_ROWS * 32u + j * FRAGMENT_COLUMNS;
        keep(at, c[i * COLUMN_FRAGMENTS + group * (32u / FRAGMENT_COLUMNS) + j], lane);
      }
      workgroupBarrier();
      let first_row = workgroup.y * ROWS + row + i * FRAGMENT_ROWS;
      let first_quad = workgroup.x * 32u + column / 4u + group * 8u;
      for (var item = lane; item < FRAGMENT_ROWS * 8u; item += SUBGROUP) {
        let y_row = first_row + item / 8u;
        let place = place_of(workgroup.y, first_quad + item % 8u);
        if (place.inside && place.y_quad < args.y_quads && y_row < args.rows) {
          store(y_row, place.y_quad, factor_of(y_row) * kept(subgroup, item / 8u, item % 8u));
        }
      }
      workgroupBarrier();
    }
  }
}

// The 32 k's of a block.
fn load_turn(
  held: ptr<function, array<vec4u, HELD_ROWS>>,
  packs: ptr<function, array<Pack, HELD_PACKS>>,
  data: ptr<function, array<Block, HELD_PACKS>>,
  block: u32,
  x0: array<u32, HELD_ROWS>,
  w_block: array<u32, HELD_PACKS>,
  w_step: u32,
  w_lane: u32,
) {
  for (var i = 0u; i < HELD_ROWS; i++) {
    (*held)[i] = x[x0[i] + 4u * block];
  }
  for (var i = 0u; i < HELD_PACKS; i++) {
    (*data)[i] = load_block(w_block[i] + block, w_lane);
    (*packs)[i] = load_pack(w_block[i] + block, w_step, w_lane);
  }
}
