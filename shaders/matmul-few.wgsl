// y = x · Wᵀ for ROWS rows, fewer than a tile. A lane owns four columns; a run of k's of each row is spread over the lanes and
// shuffled, so that x takes one load per run. Sums are exactly those of matmul.wgsl.
diagnostic(off, subgroup_uniformity); // each split consists of whole subgroups
enable subgroups;
#import "weights/$W.wgsl"
#import "lib/few-args.wgsl"
#import "lib/matrix.$MATRIX.wgsl"
#import "lib/rolled.wgsl"
#import "lib/store.$STORE.wgsl"
#import "lib/splits.wgsl"

const ROWS = 1u;
const RUN = 8u; // quads of k's held at once: 4 or 8, at most the subgroup's size
const COLUMN_LANES = 32u;
const SPLITS = 1u;
const FILLS_REGISTERS = true;
const TASK_ROWS = ROWS;

// c[r] += the four k's of one quad of row r · w
fn fold_rows(c: ptr<function, array<vec4f, ROWS>>, held: ptr<function, array<vec4f, ROWS>>, quad: u32, w: array<vec4f, 4>) {
  for (var r = 0u; r < ROWS; r++) {
    let xs = subgroupShuffle((*held)[r], quad);
    var acc = fma(vec4f(xs.x), w[0], (*c)[r]);
    acc = fma(vec4f(xs.y), w[1], acc);
    acc = fma(vec4f(xs.z), w[2], acc);
    (*c)[r] = fma(vec4f(xs.w), w[3], acc);
  }
}

@compute @workgroup_size(COLUMN_LANES * SPLITS)
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(local_invocation_index) local: u32,
  @builtin(subgroup_invocation_id) subgroup_lane: u32,
) {
  if (is_idle(workgroup.y)) {
    return;
  }
  let column = workgroup.x * COLUMN_LANES + local % COLUMN_LANES;
  let place = place_of(workgroup.y, column);
  let split = local / COLUMN_LANES;
  let group = place.group;
  let lane = column % 8u;
  let row0 = workgroup.y * ROWS;
  var x0: array<u32, ROWS>;
  for (var r = 0u; r < ROWS; r++) {
    x0[r] = x_row(row0 + r) * args.x_quads;
  }

  var c: array<vec4f, ROWS>;
  var held: array<vec4f, ROWS>;
  let last = args.blocks * (split + 1u) / SPLITS * (8u / RUN);
  for (var run = args.blocks * split / SPLITS * (8u / RUN); run < last; run++) {
    for (var r = 0u; r < ROWS; r++) {
      held[r] = x[x0[r] + run * RUN + subgroup_lane % RUN];
    }
    let block = group * args.blocks + run * RUN / 8u;
    let block_data = load_block(block, lane);
    let first_quad = run * RUN % 8u; // of the block
    for (var s = 0u; s < args.steps; s += STEPS_AT_ONCE) {
      for (var i = 0u; i < STEPS_AT_ONCE; i++) {
        let quad = (s + i) * (STEP / 4u);
        let pack = load_pack(block, first_quad / (STEP / 4u) + s + i, lane);
        for (var h = 0u; h < STEP / 4u; h++) {
          fold_rows(&c, &held, quad + h, unpack(pack, block_data, first_quad + quad + h));
        }
      }
    }
  }

  let inside = place.inside && place.y_quad < args.y_quads;
  for (var r = loop_start(workgroup.y); r < ROWS; r++) {
    let acc = sum_splits(c[r], local, split);
    if (inside && split == 0u) {
      store(row0 + r, place.y_quad, acc);
    }
  }
}
