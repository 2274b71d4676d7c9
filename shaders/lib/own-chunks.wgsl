// How the context of a decode row is divided among workgroups. The length of a chunk follows from the row's own position, so that a row's
// sum depends neither on the other rows of a step nor on the longest context that the model was opened for.
#import "lib/softmax-state.wgsl"

const LEAST_PAGES = 4u;  // pages of a chunk, at least; a power of two
const MOST_CHUNKS = 64u; // chunks of a context without a window

struct Chunks {
  pages: u32, // pages per chunk, a power of two
  first: u32, // chunks are counted from the beginning of the sequence
  last: u32,
}

fn chunks_of(tile: Tile, position: u32) -> Chunks {
  let first = first_page_of(tile, position);
  let last = last_page_of(tile, position);
  var pages = LEAST_PAGES;
  while (pages * MOST_CHUNKS <= last - first) {
    pages *= 2u;
  }
  return Chunks(pages, first / pages, last / pages);
}

// Results of chunks: [chunks, tiles of a dispatch, heads, 1 + value_dims / 4], the softmax state followed by the weighted values.
fn part_at(chunk: u32, tile: u32, head: u32) -> u32 {
  return ((chunk * args.rows + tile) * args.heads + head) * (1u + args.value_dims / 4u);
}
