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

// Keeps four rows of the k's 4 · k_quad to 4 · k_quad + 3.
fn share_x(held: Four, k_quad: u32, row_quad: u32) {
  let at = k_quad * 4u * ALL_ROW_QUADS + row_quad;
  xs[at] = vec4f(held[0].x, held[1].x, held[2].x, held[3].x);
  xs[at + ALL_ROW_QUADS] = vec4f(held[0].y, held[1].y, held[2].y, held[3].y);
  xs[at + 2u * ALL_ROW_QUADS] = vec4f(held[0].z, held[1].z, held[2].z, held[3].z);
  xs[at + 3u * ALL_ROW_QUADS] = vec4f(held[0].w, held[1].w, held[2].w, held[3].w);
}

// Keeps the weights of a pack. The kernel calls prepare_digits first. `first_quad`: quad of k's within the block at which the 16 k's begin.
fn share_w(pack: Pack, data: Block, first_quad: u32, step: u32, column_quad: u32) {
  for (var h = 0u; h < STEP / 4u; h++) {
    let quad = step * (STEP / 4u) + h;
    let w = unpack_shared(pack, data, first_quad + quad);
    let at = quad * 4u * 32u + column_quad;
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
