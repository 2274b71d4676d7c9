// A tile of a matrix product whose inputs go through workgroup memory: ROWS rows and 128 columns of 128 lanes, 16 k's at a time. Every output
// adds its k's in order, so that a sum does not depend on ROWS.

const ROWS = 64u;        // 16, 32 or 64
const ROW_QUADS = 2u;    // quads of rows of a lane
const COLUMN_QUADS = 2u; // quads of columns of a lane
const LOADS_AHEAD = true; // the next k's are loaded while the sums of these are added, into 24 registers
const FILLS_REGISTERS = true;

const LANES = 128u;
const STEPS = 16u / STEP; // packs of a quad of columns in 16 k's
const ALL_ROW_QUADS = ROWS / 4u;
const ROW_LANES = ALL_ROW_QUADS / ROW_QUADS;
const COLUMN_LANES = 32u / COLUMN_QUADS;

alias Four = array<vec4f, 4>;                                // four rows of four k's
alias Sums = array<vec4f, 4u * ROW_QUADS * COLUMN_QUADS>;    // [quad of rows][quad of columns][4 rows]

var<workgroup> xs: array<vec4f, 16u * ALL_ROW_QUADS>; // [k][quad of rows]
var<workgroup> ws: array<vec4f, 16u * 32u>;           // [k][quad of columns]

// Each lane loads four k's (quad local % 4 of 16) of four rows of x (quad local / 4), and a pack of weights of four columns (quad local % 32, step
// local / 32); those beyond the tile's inputs share nothing.
fn share_x(held: Four, local: u32) {
  if (local >= ROWS) {
    return;
  }
  let at = local % 4u * 4u * ALL_ROW_QUADS + local / 4u;
  xs[at] = vec4f(held[0].x, held[1].x, held[2].x, held[3].x);
  xs[at + ALL_ROW_QUADS] = vec4f(held[0].y, held[1].y, held[2].y, held[3].y);
  xs[at + 2u * ALL_ROW_QUADS] = vec4f(held[0].z, held[1].z, held[2].z, held[3].z);
  xs[at + 3u * ALL_ROW_QUADS] = vec4f(held[0].w, held[1].w, held[2].w, held[3].w);
}

// `turn`: number of the 16 k's. The kernel calls prepare_digits first.
fn share_w(pack: Pack, data: Block, turn: u32, local: u32) {
  if (local >= 32u * STEPS) {
    return;
  }
  let step = local / 32u % STEPS;
  for (var h = 0u; h < STEP / 4u; h++) {
    let quad = step * (STEP / 4u) + h;
    let w = unpack_shared(pack, data, turn % 2u * 4u + quad);
    let at = quad * 4u * 32u + local % 32u;
    ws[at] = w[0];
    ws[at + 32u] = w[1];
    ws[at + 64u] = w[2];
    ws[at + 96u] = w[3];
  }
}

// c += the product of the 16 k's
fn add_products(c: ptr<function, Sums>, row_lane: u32, column_lane: u32) {
  for (var k = 0u; k < 16u; k++) {
    var w: array<vec4f, COLUMN_QUADS>;
    for (var j = 0u; j < COLUMN_QUADS; j++) {
      w[j] = ws[k * 32u + j * COLUMN_LANES + column_lane];
    }
    for (var i = 0u; i < ROW_QUADS; i++) {
      let four = xs[k * ALL_ROW_QUADS + i * ROW_LANES + row_lane];
      for (var j = 0u; j < COLUMN_QUADS; j++) {
        let at = (i * COLUMN_QUADS + j) * 4u;
        (*c)[at] = fma(vec4f(four.x), w[j], (*c)[at]);
        (*c)[at + 1u] = fma(vec4f(four.y), w[j], (*c)[at + 1u]);
        (*c)[at + 2u] = fma(vec4f(four.z), w[j], (*c)[at + 2u]);
        (*c)[at + 3u] = fma(vec4f(four.w), w[j], (*c)[at + 3u]);
      }
    }
  }
}
