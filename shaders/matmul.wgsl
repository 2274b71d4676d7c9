// y = x · Wᵀ for tiles of LANES · TILES rows. A lane owns four columns; each lane holds one row of x, and rows are broadcast, so
// that no barrier and no shared memory is needed. Every output sums its k's in order within a split, and the splits in order, so
// that the sum does not depend on the number of rows.
diagnostic(off, subgroup_uniformity); // each split consists of whole subgroups
#import "weights/$W.wgsl"
#import "lib/rows.$LANES.wgsl"
#import "lib/matrix.$MATRIX.wgsl"
#import "lib/product-args.wgsl"
#import "lib/rolled.wgsl"
#import "lib/x-floats.wgsl"
#import "lib/store.$STORE.wgsl"
#import "lib/splits.wgsl"

const TILES = 2u;
const COLUMN_LANES = 32u;
const SPLITS = 1u;
const FILLS_REGISTERS = true;
const TASK_ROWS = LANES * TILES;

@compute @workgroup_size(COLUMN_LANES * SPLITS)
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(local_invocation_index) local: u32,
  lanes: Lanes,
) {
  if (is_idle(workgroup.y)) {
    return;
  }
  let column = workgroup.x * COLUMN_LANES + local % COLUMN_LANES;
  let place = place_of(workgroup.y, column);
  let split = local / COLUMN_LANES;
  let group = place.group;
  let lane = column % 8u;
  let row0 = workgroup.y * TASK_ROWS;
  var x0: array<u32, TILES>;
  for (var t = 0u; t < TILES; t++) {
    x0[t] = x_row(min(row0 + t * LANES + lane_row(lanes), args.rows - 1u)) * args.x_quads;
  }

  var c: array<array<vec4f, LANES>, TILES>;
  let last = args.blocks * (split + 1u) / SPLITS;
  for (var b = args.blocks * split / SPLITS; b < last; b++) {
    let block = group * args.blocks + b;
    let block_data = load_block(block, lane);
    var pack: Pack;
    for (var quad = loop_start(workgroup.y); quad < 8u; quad++) { // four k's per iteration; unrolled, it would leave a CPU's code cache
      if (quad % (STEP / 4u) == 0u) {
        pack = load_pack(block, quad / (STEP / 4u), lane);
      }
      let w = unpack(pack, block_data, quad);
      var xs: array<vec4f, TILES>; // loaded together, which on llvmpipe is a third faster than loading each before its use
      for (var t = 0u; t < TILES; t++) {
        xs[t] = x[x0[t] + b * 8u + quad];
      }
      for (var t = 0u; t < TILES; t++) {
        fold_quad(&c, t, xs[t], w);
      }
    }
  }

  // Copied, so that the loops above keep theirs in registers.
  var sums: array<vec4f, TASK_ROWS>;
  for (var t = 0u; t < TILES; t++) {
    for (var i = 0u; i < LANES; i++) {
      sums[t * LANES + i] = c[t][i];
    }
  }
  let is_inside = place.inside && place.y_quad < args.y_quads && split == 0u;
  for (var i = loop_start(workgroup.y); i < TASK_ROWS; i++) {
    let sum = sum_splits(sums[i], local, split);
    if (is_inside && row0 + i < args.rows) {
      store(row0 + i, place.y_quad, sum);
    }
  }
}
