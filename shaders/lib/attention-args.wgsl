// Arguments and bindings of all kernels of paged attention.
struct Args {
  heads: u32,
  kv_heads: u32,
  dims: u32,     // dimensions of a head
  q_quads: u32,  // quads of columns from one row of q, and of y, to the next
  window: u32,   // tokens that a query sees, including itself
  cap: f32,      // bound of the scores if they are capped
  rows: u32,     // rows that a chunk has room for, if chunks have separate workgroups
}

@group(0) @binding(2) var<storage, read> tiles: array<Tile>;
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;

const SPANS = false; // whether rows of a tile may see other tokens than up to themselves

// The last token that the query at `position` sees.
fn reach(tile: Tile, position: u32) -> u32 {
  if (SPANS) {
    return select(tile.last, position, tile.last == 0u);
  }
  return position;
}

// The first page that a query at `position` sees.
fn first_page_of(position: u32) -> u32 {
  return (position - min(position, args.window - 1u)) / 32u;
}
