// Arguments and bindings of all kernels of paged attention.
struct Args {
  heads: u32,
  kv_heads: u32,
  dims: u32,     // dimensions of a head
  value_dims: u32, // dimensions of a value; those of a head, or its first ones
  q_quads: u32,  // quads of columns from one row of q to the next
  y_quads: u32,
  window: u32,   // tokens that a query sees, including itself
  cap: f32,      // bound of the scores if they are capped
  rows: u32,     // rows that a chunk has room for, if chunks have separate workgroups
  blocks: u32,   // pages of the longest context
  chosen_words: u32, // words from one row of chosen tokens to the next
  farthest: u32, // distance from which on keys share a bias, if scores have one
  bias_columns: u32, // columns from one distance's biases to the next
  first_tile: u32, // tile of the first workgroup, if a dispatch computes a part of the tiles
  segment_first: u32, // first page of the dispatch's segment, counted over the tables of all sequences, if contexts are computed in segments
  segment_pages: u32, // pages of a segment
}

@group(0) @binding(2) var<storage, read> tiles: array<Tile>;
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;

const SPANS = false; // whether rows of a tile may see other tokens than up to themselves
const BOTH_SIDES = false; // whether a window reaches as far behind a query as before it
const CHUNKED = false; // whether windows begin at multiples of their length

// The position whose window begins where that of the query at `position` does.
fn reach_of(position: u32) -> u32 {
  if (CHUNKED) {
    return position - position % args.window + args.window - 1u;
  }
  return position;
}

// The number of tokens, from the first one on, that the query at `position` sees if its window is large enough.
fn seen_by(tile: Tile, position: u32) -> u32 {
  if (SPANS) {
    let last = select(tile.last, position, tile.last == 0u);
    if (BOTH_SIDES) {
      return min(last, position + args.window - 1u) + 1u;
    }
    return last + 1u; // 0 for a tile that sees nothing
  }
  return position + 1u;
}

// The first and the last page to visit for a query at `position`, which may be one that it does not see.
fn first_page_of(tile: Tile, position: u32) -> u32 {
  let reach = reach_of(position);
  let page = (reach - min(reach, args.window - 1u)) / 32u;
  if (SPANS) {
    return min(page, last_page_of(tile, position));
  }
  return page;
}

fn last_page_of(tile: Tile, position: u32) -> u32 {
  return (max(seen_by(tile, position), 1u) - 1u) / 32u;
}
