// A tile of dense attention, whose queries, keys and values go through workgroup memory. ROW_LANES lanes divide the queries, COLUMN_LANES
// the keys of a group and the dimensions of a head.

const ROW_LANES = 8u;
const COLUMN_LANES = 16u;
const QUERY_QUADS = 1u; // quads of queries of a lane
const OUT_QUADS = 1u;   // quads of dimensions of a lane
const HEAD_CHUNK = 4u;  // quads of dimensions, or of 16 codes, in workgroup memory at once, for the scores
const VALUE_KEYS = 16u; // keys whose values are in workgroup memory at once; a divisor of 2 · COLUMN_LANES

const MASKED = -1e30;
const LANES = ROW_LANES * COLUMN_LANES;
const QUERIES = 4u * QUERY_QUADS * ROW_LANES;
const GROUP = 4u * COLUMN_LANES;
const ALL_QUERY_QUADS = QUERIES / 4u;
const OUT_ROW = OUT_QUADS * COLUMN_LANES; // quads of a row of values

// Strides that are no multiples of the banks. [quad of dimensions][row], [key or lane][quad of queries]
const Q_STRIDE = QUERIES + 2u;
const K_STRIDE = GROUP + 2u;
const W_STRIDE = ALL_QUERY_QUADS + 1u;
const FIRST_K = HEAD_CHUNK * Q_STRIDE;
const FIRST_V = 2u * COLUMN_LANES * W_STRIDE;
const Q_LOADS = (QUERIES * HEAD_CHUNK + LANES - 1u) / LANES;
const K_LOADS = (GROUP * HEAD_CHUNK + LANES - 1u) / LANES;
const V_LOADS = (VALUE_KEYS * OUT_ROW + LANES - 1u) / LANES;

alias Scores = array<vec4f, 4u * QUERY_QUADS>;          // [quad of queries][key]: four queries
alias Out = array<vec4f, 4u * QUERY_QUADS * OUT_QUADS>; // [query][quad of dimensions]

struct Rows {
  q0: u32, // first quad of the head in the item's first row
  k0: u32,
  v0: u32,
  first: u32,    // query of the tile
  last_key: u32, // of the item; rows beyond are not read
}

// Queries and keys, or weights and values; also one number for each lane and query.
var<workgroup> tile: array<vec4f, max(SCORE_QUADS, FIRST_V + VALUE_KEYS * OUT_ROW)>;
var<workgroup> largest_scores: array<f32, QUERIES>;

// The lane's i-th query of the tile.
fn query_of(i: u32, row_lane: u32) -> u32 {
  return (i / 4u * ROW_LANES + row_lane) * 4u + i % 4u;
}

fn four_largest(h: u32, row_lane: u32) -> vec4f {
  let at = query_of(4u * h, row_lane);
  return vec4f(largest_scores[at], largest_scores[at + 1u], largest_scores[at + 2u], largest_scores[at + 3u]);
}

fn share_partial(four: vec4f, h: u32, row_lane: u32, column_lane: u32) {
  tile[column_lane * W_STRIDE + h * ROW_LANES + row_lane] = four;
}

fn partial(column_lane: u32, query: u32) -> f32 {
  return tile[column_lane * W_STRIDE + query / 4u][query % 4u];
}
