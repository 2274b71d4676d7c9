// y = x · Wᵀ for tiles of LANES · TILES rows. A lane owns four columns; rows of x sit one a lane and are broadcast, so there
// is no barrier and no shared memory on the way. Every output sums its k's in order within a split, and the splits in order:
// the sum does not depend on how many rows there are.
diagnostic(off, subgroup_uniformity); // a split is whole subgroups
#import "weights/$W.wgsl"
#import "lib/rows.$LANES.wgsl"
#import "lib/matrix.$MATRIX.wgsl"
#import "lib/store.$STORE.wgsl"
#import "lib/splits.wgsl"

const TILES = 2u;
const COLUMN_LANES = 32u;
const SPLITS = 1u;
const TASK_ROWS = LANES * TILES;

struct Args {
  x_quads: u32,     // quads of columns from one row of x to the next
  y_quads: u32,     // the same of y; of pairs where the store halves the columns
  blocks: u32,      // K / 32
  first_group: u32, // groups of 32 columns before this window
  groups: u32,      // groups in this window
  rows: u32,        // that x and y hold in this strip; the last tile may reach behind them
  expert_groups: u32, // groups of one expert's columns, where there are experts
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(3) var<uniform> args: Args;

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
    let scale = load_scale(block, lane);
    var pack: Pack;
    for (var quad = 0u; quad < 8u; quad++) { // four k's a turn: a loop that drivers on the CPU leave rolled, in the code cache
      if (quad % (STEP / 4u) == 0u) {
        pack = load_pack(block * (32u / STEP) + quad / (STEP / 4u), lane);
      }
      let w = unpack(pack, scale, quad % (STEP / 4u));
      var xs: array<vec4f, TILES>; // loaded together: on llvmpipe a third faster than each before its use
      for (var t = 0u; t < TILES; t++) {
        xs[t] = x[x0[t] + b * 8u + quad];
      }
      for (var t = 0u; t < TILES; t++) {
        fold_quad(&c[t], xs[t], w);
      }
    }
  }

  // Through memory, so that one store serves all rows.
  var sums: array<vec4f, LANES * TILES>;
  for (var t = 0u; t < TILES; t++) {
    for (var i = 0u; i < LANES; i++) {
      sums[t * LANES + i] = sum_splits(c[t][i], local, split);
    }
  }
  if (place.inside && place.y_quad < args.y_quads && split == 0u) {
    for (var row = 0u; row < min(TASK_ROWS, args.rows - row0); row++) { // a bound that drivers leave rolled, too
      store(row0 + row, place.y_quad, sums[row]);
    }
  }
}
