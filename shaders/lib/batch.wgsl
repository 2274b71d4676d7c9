// A row of a text batch. `source` is a token id, or FROM_SLOT + the slot whose last sampled token it continues.
const FROM_SLOT = 0x80000000u;

struct Row {
  source: u32,
  position: u32,
  kv: u32,          // page · 32 + place in the page
  frequencies: u32, // which set of rotary frequencies
}

// At most 16 rows of one sequence, each a position after the one before.
struct Tile {
  first_row: u32,
  rows: u32,
  pages: u32,   // where its page table begins
  pad: u32,
}
