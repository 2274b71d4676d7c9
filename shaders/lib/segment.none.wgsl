// A dispatch of attention reads whole contexts.
struct Segment {
  first: u32, // page of the sequence
  last: u32,
}

fn segment_of(tile: Tile, first: u32, last: u32) -> Segment {
  return Segment(first, last);
}

// The stored page of a page of the sequence.
fn stored_page(tile: Tile, page: u32) -> u32 {
  return pages[tile.pages + page];
}

// Whether earlier, and later, dispatches read other pages of what rows see.
fn is_resumed(segment: Segment, first: u32) -> bool {
  return false;
}

fn is_left(segment: Segment, last: u32) -> bool {
  return false;
}

fn held_state(row: u32, head: u32, lane: u32) -> vec2f {
  return vec2f(MASKED, 0.0);
}

fn hold_state(row: u32, head: u32, lane: u32, state: vec2f) {
}
