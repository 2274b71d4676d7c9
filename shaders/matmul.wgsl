// y = x · Wᵀ for tiles of LANES · TILES rows. A lane owns four columns; each lane holds one row of x, and rows are broadcast, so
// that no barrier and no shared memory is needed. Every output sums its k's in order within a split, and the splits in order, so
// that the sum does not depend on the number of rows.
diagnostic(off, subgroup_uniformity); // each split consists of whole subgroups
#import "weights/$W.wgsl"
#import "lib/rows.$LANES.wgsl"
#import "lib/matrix.$MATRIX.wgsl"
#import "lib/product-args.wgsl"
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
    let first = b * 8u;
    for (var at = first; at < first + 8u; at++) { // four k's per iteration, in a loop that drivers do not unroll
      let quad = at - first;
      if (quad % (STEP / 4u) == 0u) {
        pack = load_pack(block, quad / (STEP / 4u), lane);
      }
      let w = unpack(pack, block_data, quad);
      var xs: array<vec4f, TILES>; // loaded together, which on llvmpipe is a third faster than loading each before its use
      for (var t = 0u; t < TILES; t++) {
        xs[t] = x[x0[t] + at];
      }
      for (var t = 0u; t < TILES; t++) {
        fold_quad(&c, t, xs[t], w);
      }
    }
  }

  // Stored through an array in memory, by a loop from a value of run time, so that drivers do not unroll it: they would compile 15 times as long.
  var sums: array<vec4f, TASK_ROWS>;
  for (var t = 0u; t < TILES; t++) {
    for (var i = 0u; i < LANES; i++) {
      sums[t * LANES + i] = c[t][i];
    }
  }
  let is_inside = place.inside && place.y_quad < args.y_quads && split == 0u;
  let after = min(row0 + TASK_ROWS, args.rows);
  for (var row = row0; row < after; row++) {
    let sum = sum_splits(sums[row - row0], local, split);
    if (is_inside) {
      store(row, place.y_quad, sum);
    }
  }
}
