// A dispatch of attention reads the pages of one segment, which stand in the order of the sequences' tables. Sums of rows that see other pages, too, wait
// in y for the dispatches of the next segments, and the states of their softmax in `held`.
@group(0) @binding(8) var<storage, read_write> held: array<vec2f>; // [rows][heads][8 lanes]: largest score, sum of weights

struct Segment {
  first: u32, // page of the sequence
  last: u32,  // before the first: none
}

// The segment's part of the pages from `first` to `last` of the tile's sequence.
fn segment_of(tile: Tile, first: u32, last: u32) -> Segment {
  let end = args.segment_first + args.segment_pages;
  if (end <= tile.pages + first || tile.pages + last < args.segment_first) {
    return Segment(1u, 0u);
  }
  let begin = max(args.segment_first, tile.pages) - tile.pages;
  return Segment(max(first, begin), min(last, end - tile.pages - 1u));
}

// The stored page of a page of the sequence.
fn stored_page(tile: Tile, page: u32) -> u32 {
  return tile.pages + page - args.segment_first;
}

// Whether earlier, and later, dispatches read other pages of what rows see.
fn is_resumed(segment: Segment, first: u32) -> bool {
  return segment.first > first;
}

fn is_left(segment: Segment, last: u32) -> bool {
  return segment.last < last;
}

fn held_state(row: u32, head: u32, lane: u32) -> vec2f {
  return held[(row * args.heads + head) * 8u + lane];
}

fn hold_state(row: u32, head: u32, lane: u32, state: vec2f) {
  held[(row * args.heads + head) * 8u + lane] = state;
}
