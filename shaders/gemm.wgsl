// y = x · Wᵀ for many rows, on GPUs. A workgroup has ROWS rows and 128 columns; x and the decoded weights go through workgroup memory, 16 k's at
// a time, and the next ones are loaded before these are used. Every output adds its k's in order, so that the sum does not depend on ROWS.
#import "weights/$W.wgsl"
#import "lib/matrix.$MATRIX.wgsl"
#import "lib/store.$STORE.wgsl"

const ROWS = 64u; // 16, 32 or 64
const ROW_QUADS = 2u;    // quads of rows of a lane
const COLUMN_QUADS = 2u; // quads of columns of a lane
const TASK_ROWS = ROWS;

const LANES = 128u;
const STEPS = 16u / STEP; // of a column, in 16 k's
const ALL_ROW_QUADS = ROWS / 4u;
const ROW_LANES = ALL_ROW_QUADS / ROW_QUADS;
const COLUMN_LANES = 32u / COLUMN_QUADS;

struct Args {
  x_quads: u32,     // quads of columns from one row of x to the next
  y_quads: u32,     // quads from one row of y to the next; pairs if the store halves the columns
  blocks: u32,      // K / 32
  first_group: u32, // groups of 32 columns before this window
  groups: u32,      // groups in this window
  rows: u32,        // rows of x and y in this strip; the last tile may extend beyond them
  expert_groups: u32, // groups of one expert's columns, if there are experts
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(3) var<uniform> args: Args;

var<workgroup> xs: array<vec4f, 16u * ALL_ROW_QUADS>; // [k][quad of rows]
var<workgroup> ws: array<vec4f, 16u * 32u>;           // [k][quad of columns]

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  if (is_idle(workgroup.y)) {
    return;
  }
  // What the lane loads: four k's of four rows of x, and a pack of four columns.
  let loads_x = local < ROWS;
  let x_rows = local / 4u;
  let x_quad = local % 4u;
  var x0: array<u32, 4>;
  for (var i = 0u; i < 4u; i++) {
    x0[i] = x_row(min(workgroup.y * ROWS + x_rows % ALL_ROW_QUADS * 4u + i, args.rows - 1u)) * args.x_quads + x_quad;
  }
  let loads_w = local < 32u * STEPS;
  let w_quad = local % 32u;
  let w_step = local / 32u % STEPS;
  let w_block = place_of(workgroup.y, workgroup.x * 32u + w_quad).group * args.blocks;
  let w_lane = w_quad % 8u;

  let row_lane = local / COLUMN_LANES;
  let column_lane = local % COLUMN_LANES;
  var c: array<vec4f, 4u * ROW_QUADS * COLUMN_QUADS>;

  var held = array<vec4f, 4>(x[x0[0]], x[x0[1]], x[x0[2]], x[x0[3]]);
  var data = load_block(w_block, w_lane);
  var pack = load_pack(w_block, w_step, w_lane);
  let turns = 2u * args.blocks;
  for (var turn = 0u; turn < turns; turn++) {
    if (loads_x) {
      xs[(x_quad * 4u) * ALL_ROW_QUADS + x_rows] = vec4f(held[0].x, held[1].x, held[2].x, held[3].x);
      xs[(x_quad * 4u + 1u) * ALL_ROW_QUADS + x_rows] = vec4f(held[0].y, held[1].y, held[2].y, held[3].y);
      xs[(x_quad * 4u + 2u) * ALL_ROW_QUADS + x_rows] = vec4f(held[0].z, held[1].z, held[2].z, held[3].z);
      xs[(x_quad * 4u + 3u) * ALL_ROW_QUADS + x_rows] = vec4f(held[0].w, held[1].w, held[2].w, held[3].w);
    }
    if (loads_w) {
      for (var h = 0u; h < STEP / 4u; h++) {
        let quad = w_step * (STEP / 4u) + h; // of the 16 k's
        let w = unpack(pack, data, turn % 2u * 4u + quad);
        ws[(quad * 4u) * 32u + w_quad] = w[0];
        ws[(quad * 4u + 1u) * 32u + w_quad] = w[1];
        ws[(quad * 4u + 2u) * 32u + w_quad] = w[2];
        ws[(quad * 4u + 3u) * 32u + w_quad] = w[3];
      }
    }
    workgroupBarrier();
    if (turn + 1u < turns) {
      let next = turn + 1u;
      held = array<vec4f, 4>(x[x0[0] + next * 4u], x[x0[1] + next * 4u], x[x0[2] + next * 4u], x[x0[3] + next * 4u]);
      data = load_block(w_block + next / 2u, w_lane);
      pack = load_pack(w_block + next / 2u, next % 2u * STEPS + w_step, w_lane);
    }
    for (var k = 0u; k < 16u; k++) {
      var w: array<vec4f, COLUMN_QUADS>;
      for (var j = 0u; j < COLUMN_QUADS; j++) {
        w[j] = ws[k * 32u + j * COLUMN_LANES + column_lane];
      }
      for (var i = 0u; i < ROW_QUADS; i++) {
        let four = xs[k * ALL_ROW_QUADS + i * ROW_LANES + row_lane];
        for (var j = 0u; j < COLUMN_QUADS; j++) {
          let at = (i * COLUMN_QUADS + j) * 4u;
          c[at] = fma(vec4f(four.x), w[j], c[at]);
          c[at + 1u] = fma(vec4f(four.y), w[j], c[at + 1u]);
          c[at + 2u] = fma(vec4f(four.z), w[j], c[at + 2u]);
          c[at + 3u] = fma(vec4f(four.w), w[j], c[at + 3u]);
        }
      }
    }
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
