// A tile of a matrix product on matrix units: ROWS rows and 128 columns, summed over 32 k's at a time that pass through workgroup memory as
// f16. Each subgroup sums a part of it, in fragments that a matrix unit multiplies at once (lib/fragments.*). A sum adds its k's in order, so
// that it does not depend on the tile.
#import "lib/fragments.$FRAGMENTS.wgsl"
enable f16;

const ROWS = 32u;
const LANES = 128u;
const SUBGROUP = 64u;     // lanes of a subgroup
const PART_ROWS = 32u;    // rows of a subgroup's part
const PART_COLUMNS = 64u; // its columns, a multiple of 32
const FRAGMENT_ROWS = 8u;
const FRAGMENT_COLUMNS = 16u;
const FRAGMENT_DEPTH = 16u;
const CLAMPED = true;     // whether a weight may be beyond f16; it then counts as the largest number of f16
const LOADS_AHEAD = true; // the next k's are loaded before the products of these are added, into registers

const ROW_FRAGMENTS = PART_ROWS / FRAGMENT_ROWS;
const COLUMN_FRAGMENTS = PART_COLUMNS / FRAGMENT_COLUMNS;
const PARTS_ACROSS = 128u / PART_COLUMNS;
const PIECE_FRAGMENTS = 32u / FRAGMENT_COLUMNS; // fragments of one row of them and 32 columns, a piece of a part
const PIECES = ROW_FRAGMENTS * COLUMN_FRAGMENTS / PIECE_FRAGMENTS;
const STRIDE = 10u; // quads from one row or column to the next: 32 k's, and 8 that spread rows over the banks of memory
const STEPS = 32u / STEP; // packs of a quad of columns in 32 k's
const HELD_PACKS = max(1u, 32u * STEPS / LANES);
const HELD_ROWS = ROWS * 4u / LANES;
const LARGEST = 65504.0;

alias Half = vec4<f16>;
alias Sums = array<Sum, ROW_FRAGMENTS * COLUMN_FRAGMENTS>;

var<workgroup> xs: array<Half, ROWS * STRIDE>; // [row][k / 4]
// [column][k / 4], where columns of a group of 32 stand by their place within their quad: column 4 · q + c is the one at 8 · c + q, so that
// lanes that write columns of different quads reach different banks.
var<workgroup> ws: array<Half, 128u * STRIDE>;
var<workgroup> ys: array<f32, LANES / SUBGROUP * FRAGMENT_ROWS * 32u>; // [subgroup][row of a fragment][column as in ws]

// Keeps eight k's of a row.
fn share_x(row: u32, eighth: u32, held: vec4u) {
  let at = row * STRIDE + 2u * eighth;
  xs[at] = half_of(held.xy);
  xs[at + 1u] = half_of(held.zw);
}

// Keeps the weights of a pack of four columns. `lane`: quad of columns within its group.
fn share_w(pack: Pack, data: Block, step: u32, group: u32, lane: u32) {
  for (var h = 0u; h < STEP / 4u; h++) {
    let quad = step * (STEP / 4u) + h;
    let w = unpack_tile(pack, data, quad);
    let at = (group * 32u + lane) * STRIDE + quad;
    ws[at] = half(vec4f(w[0].x, w[1].x, w[2].x, w[3].x));
    ws[at + 8u * STRIDE] = half(vec4f(w[0].y, w[1].y, w[2].y, w[3].y));
    ws[at + 16u * STRIDE] = half(vec4f(w[0].z, w[1].z, w[2].z, w[3].z));
    ws[at + 24u * STRIDE] = half(vec4f(w[0].w, w[1].w, w[2].w, w[3].w));
  }
}

// Keeps what a lane has loaded of 32 k's: eight of each of its rows (eighth local % 4), and packs of columns (quad local % 8 of their group).
fn share_turn(
  held: array<vec4u, HELD_ROWS>,
  packs: array<Pack, HELD_PACKS>,
  data: array<Block, HELD_PACKS>,
  local: u32,
  w_step: u32,
  w_group: array<u32, HELD_PACKS>,
) {
  for (var i = 0u; i < HELD_ROWS; i++) {
    share_x((i * LANES + local) / 4u, local % 4u, held[i]);
  }
  if (local < 32u * STEPS) {
    for (var i = 0u; i < HELD_PACKS; i++) {
      share_w(packs[i], data[i], w_step, w_group[i], local % 8u);
    }
  }
}

fn half(w: vec4f) -> Half {
  if (CLAMPED) {
    return Half(clamp(w, vec4f(-LARGEST), vec4f(LARGEST)));
  }
  return Half(w);
}

// c += the product of the 32 k's, of the part that begins at this row and column
fn add_products(c: ptr<function, Sums>, row: u32, column: u32, lane: u32) {
  for (var depth = 0u; depth < turns(32u); depth += FRAGMENT_DEPTH) {
    var left: array<Left, ROW_FRAGMENTS>;
    for (var i = 0u; i < turns(ROW_FRAGMENTS); i++) {
      left[i] = left_at((row + i * FRAGMENT_ROWS) * STRIDE + depth / 4u);
    }
    for (var j = 0u; j < turns(COLUMN_FRAGMENTS); j++) {
      let right = right_at((column + j * FRAGMENT_COLUMNS) * STRIDE + depth / 4u);
      for (var i = 0u; i < turns(ROW_FRAGMENTS); i++) {
        let at = i * COLUMN_FRAGMENTS + j;
        (*c)[at] = add_product((*c)[at], left[i], right, lane);
      }
    }
  }
}

// Keeps a piece of the part in ys; pieces stand row after row. The loop is over all fragments, so that those of each turn are known to the compiler.
fn keep_piece(c: ptr<function, Sums>, piece: u32, subgroup: u32, lane: u32) {
  for (var i = 0u; i < turns(ROW_FRAGMENTS * COLUMN_FRAGMENTS); i++) {
    if (i / PIECE_FRAGMENTS == piece) {
      keep(subgroup * FRAGMENT_ROWS * 32u + i % PIECE_FRAGMENTS * FRAGMENT_COLUMNS, (*c)[i], lane);
    }
  }
}

// Four adjacent columns of a row of a fragment that a subgroup has kept. `lane`: quad of columns within its group.
fn kept(subgroup: u32, row: u32, lane: u32) -> vec4f {
  let at = (subgroup * FRAGMENT_ROWS + row) * 32u + lane;
  return vec4f(ys[at], ys[at + 8u], ys[at + 16u], ys[at + 24u]);
}
