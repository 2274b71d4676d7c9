// A tile of attention on matrix units: ROWS queries, and 32 keys at a time. Scores and sums of values are f32, what is multiplied is f16 in workgroup
// memory. Each subgroup computes the scores of some rows with a part of the keys, then the sums of these rows in a part of the dimensions;
// PER_ROW lanes make a row's scores to weights. A row's weights are relative to a maximum that grows only if it is exceeded by 2^SLACK: the
// sums, which lanes cannot scale row by row where matrix units hold them, pass through workgroup memory then. Keys are visited in
// order, so that a row does not depend on the tile.
#import "lib/fragments.$FRAGMENTS.wgsl"
#import "lib/softmax-state.wgsl"
enable f16;

const ROWS = 32u;
const LANES = 128u;
const SUBGROUP = 32u;     // lanes of a subgroup
const DIMS = 32u;         // of a head, padded to whole fragments of each part
const COLUMN_PARTS = 2u;  // subgroups that share rows
const FRAGMENT_ROWS = 16u;
const FRAGMENT_COLUMNS = 16u;
const FRAGMENT_DEPTH = 16u;

const BLOCK_KEYS = 32u;
const PART_ROWS = ROWS * COLUMN_PARTS * SUBGROUP / LANES;
const PART_KEYS = BLOCK_KEYS / COLUMN_PARTS;
const PART_DIMS = DIMS / COLUMN_PARTS;
const ROW_FRAGMENTS = PART_ROWS / FRAGMENT_ROWS;
const KEY_FRAGMENTS = PART_KEYS / FRAGMENT_COLUMNS;
const DIM_FRAGMENTS = PART_DIMS / FRAGMENT_COLUMNS;
const GROUPS = (DIM_FRAGMENTS + KEY_FRAGMENTS - 1u) / KEY_FRAGMENTS; // of dimensions that pass through ys at once
const PER_ROW = LANES / ROWS;
const OWN_QUADS = BLOCK_KEYS / 4u / PER_ROW; // of a lane's row
const STRIDE = 10u;       // quads from one line of halves to the next: 32 k's, and 8 that spread lines over the banks of memory
const CHUNKS = (DIMS + 31u) / 32u;
const WEIGHTS = CHUNKS * ROWS * STRIDE;
const SCORES = BLOCK_KEYS + 4u; // floats from one row of scores to the next

const SLACK = 8.0;
const LIFT = 7.0;         // log2 of the weight of a key at the maximum: f16 loses those below 2⁻²⁴, and has none above 2¹⁶

alias Half = vec4<f16>;
alias Outs = array<Sum, ROW_FRAGMENTS * DIM_FRAGMENTS>;

var<workgroup> xs: array<Half, WEIGHTS + ROWS * STRIDE>; // queries [chunk of 32 dimensions][row], then weights [row]
var<workgroup> ws: array<Half, max(CHUNKS * BLOCK_KEYS, DIMS) * STRIDE>; // keys [chunk][key], then values [dimension]
var<workgroup> ys: array<f32, ROWS * SCORES>;
var<workgroup> grown: atomic<u32>; // the last block, counted from 1, in which a row's maximum grew

struct Part {
  row: u32, // first row of the subgroup's
  column: u32, // its part of the keys, and of the dimensions
}

fn part_of(subgroup: u32) -> Part {
  return Part(subgroup / COLUMN_PARTS * PART_ROWS, subgroup % COLUMN_PARTS);
}

// A row's state: keys that it sees, its maximum, and the lane's own sum of weights.
struct RowState {
  from_key: u32,
  end_key: u32,
  largest: f32,
  total: f32,
}

// Scores of the keys in ws, into ys.
fn keep_scores(part: Part, lane: u32) {
  var s = array<Sum, ROW_FRAGMENTS * KEY_FRAGMENTS>();
  for (var depth = 0u; depth < turns(DIMS); depth += FRAGMENT_DEPTH) {
    let chunk = depth / 32u;
    let quad = depth % 32u / 4u;
    var left: array<Left, ROW_FRAGMENTS>;
    for (var i = 0u; i < turns(ROW_FRAGMENTS); i++) {
      left[i] = left_at((chunk * ROWS + part.row + i * FRAGMENT_ROWS) * STRIDE + quad);
    }
    for (var j = 0u; j < turns(KEY_FRAGMENTS); j++) {
      let right = right_at((chunk * BLOCK_KEYS + part.column * PART_KEYS + j * FRAGMENT_COLUMNS) * STRIDE + quad);
      for (var i = 0u; i < turns(ROW_FRAGMENTS); i++) {
        let at = i * KEY_FRAGMENTS + j;
        s[at] = add_product(s[at], left[i], right, lane);
      }
    }
  }
  for (var i = 0u; i < turns(ROW_FRAGMENTS); i++) {
    for (var j = 0u; j < turns(KEY_FRAGMENTS); j++) {
      keep_apart(kept_begin(part, i, j), SCORES, s[i * KEY_FRAGMENTS + j], lane);
    }
  }
}

// Offset in ys of fragment (i, j) of a subgroup's part.
fn kept_begin(part: Part, i: u32, j: u32) -> u32 {
  return (part.row + i * FRAGMENT_ROWS) * SCORES + part.column * PART_KEYS + j * FRAGMENT_COLUMNS;
}

fn four_kept(row: u32, quad: u32) -> vec4f {
  let at = row * SCORES + quad * 4u;
  return vec4f(ys[at], ys[at + 1u], ys[at + 2u], ys[at + 3u]);
}

// Adds the weighted values in ws.
fn add_values(part: Part, lane: u32, out: ptr<function, Outs>) {
  for (var depth = 0u; depth < turns(BLOCK_KEYS); depth += FRAGMENT_DEPTH) {
    var left: array<Left, ROW_FRAGMENTS>;
    for (var i = 0u; i < turns(ROW_FRAGMENTS); i++) {
      left[i] = left_at(WEIGHTS + (part.row + i * FRAGMENT_ROWS) * STRIDE + depth / 4u);
    }
    for (var j = 0u; j < turns(DIM_FRAGMENTS); j++) {
      let right = right_at((part.column * PART_DIMS + j * FRAGMENT_COLUMNS) * STRIDE + depth / 4u);
      for (var i = 0u; i < turns(ROW_FRAGMENTS); i++) {
        let at = i * DIM_FRAGMENTS + j;
        (*out)[at] = add_product((*out)[at], left[i], right, lane);
      }
    }
  }
}

// Keeps a group of dimensions of the sums in ys.
fn keep_group(part: Part, lane: u32, group: u32, out: ptr<function, Outs>) {
  for (var i = 0u; i < turns(ROW_FRAGMENTS); i++) {
    for (var j = 0u; j < turns(KEY_FRAGMENTS); j++) {
      if (group * KEY_FRAGMENTS + j < DIM_FRAGMENTS) {
        keep_apart(kept_begin(part, i, j), SCORES, (*out)[i * DIM_FRAGMENTS + group * KEY_FRAGMENTS + j], lane);
      }
    }
  }
}

// Multiplies the sums of each row by the factor of its lanes.
fn scale_rows(part: Part, lane: u32, out: ptr<function, Outs>, local: u32, factor: f32) {
  for (var group = 0u; group < turns(GROUPS); group++) {
    keep_group(part, lane, group, out);
    workgroupBarrier();
    let at = local / PER_ROW * SCORES + local % PER_ROW * OWN_QUADS * 4u;
    for (var i = 0u; i < turns(OWN_QUADS * 4u); i++) {
      ys[at + i] *= factor;
    }
    workgroupBarrier();
    for (var i = 0u; i < turns(ROW_FRAGMENTS); i++) {
      for (var j = 0u; j < turns(KEY_FRAGMENTS); j++) {
        if (group * KEY_FRAGMENTS + j < DIM_FRAGMENTS) {
          (*out)[i * DIM_FRAGMENTS + group * KEY_FRAGMENTS + j] = kept_at(kept_begin(part, i, j), SCORES, lane);
        }
      }
    }
    workgroupBarrier();
  }
}

// Dimension of the head at a column of ys, of a group of dimensions; DIMS or more: none.
fn dimension_at(group: u32, column: u32) -> u32 {
  let within = group * PART_KEYS + column % PART_KEYS;
  return select(DIMS, column / PART_KEYS * PART_DIMS + within, within < PART_DIMS);
}
