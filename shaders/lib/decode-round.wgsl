// How the lanes of attention-decode.wgsl divide a round of four pages. For the scores, eight lanes hold the 32 tokens of a page, and PARTS such
// groups divide the dimensions; for the values, a lane holds four dimensions, and WALKERS groups of lanes divide the tokens.
const LANES = 128u;
const PAGES = 4u;                            // of a round
const PARTS = LANES / 8u / PAGES;            // parts of the dimensions
const QUADS = DIMS / 4u;
const VALUE_QUADS = VALUE_DIMS / 4u;
const TOKEN_QUADS = PAGES * 8u;
const SHARERS = min(TOKEN_QUADS, LANES / QUERIES); // lanes that share a query's softmax
const WALKERS = LANES / VALUE_QUADS;
const PART_TURNS = (QUADS + PARTS - 1u) / PARTS;
const VALUE_TURNS = (TOKEN_QUADS + WALKERS - 1u) / WALKERS;

@group(0) @binding(8) var<storage, read_write> parts: array<vec4f>; // see lib/own-chunks.wgsl

var<workgroup> scores: array<vec4f, QUERIES * TOKEN_QUADS>; // then the weights
var<workgroup> partial: array<f32, LANES>;
var<workgroup> kept: array<f32, QUERIES>;
var<workgroup> largest_of: array<f32, QUERIES>;
var<workgroup> spread: array<vec4f, LANES>;

// The largest score of a query's tokens among those of one of its lanes.
fn best_of_share(query: u32, sharer: u32) -> f32 {
  var best = MASKED;
  for (var at = sharer; at < TOKEN_QUADS; at += SHARERS) {
    let four = scores[query * TOKEN_QUADS + at];
    best = max(best, max(max(four.x, four.y), max(four.z, four.w)));
  }
  return best;
}
