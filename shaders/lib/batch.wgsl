// The flat batch of a step: rows of several sequences, one after the other.

// `source` is a token id, FROM_SLOT + the slot whose last sampled token the row continues, or FROM_INPUT + a row of embeddings.
const FROM_SLOT = 0x80000000u;
const FROM_INPUT = 0x40000000u;

// Parts of Row.frequencies: the bits of the index, and the first bit of the token type.
const SET_MASK = 0xffffffu;
const KIND_SHIFT = 24u;

struct Row {
  source: u32,
  position: u32,    // position in time; rows of an image also have a height and a width
  frequencies: u32, // index of the row's set of rotary frequencies, and from bit 24 on its token type
  sequence: u32,    // index of the row's entry in the table of sequences
}

// At most 16 consecutive rows of one sequence.
struct Tile {
  first_row: u32,
  rows: u32,
  pages: u32,       // index at which the sequence's page table begins
  start: u32,       // position of the first row in its sequence
  last: u32,        // the last token that all rows see; 0: each row sees up to itself; 0xffffffff: they see none
}

struct Sequence {
  first_row: u32,
  rows: u32,
  cached: u32,      // tokens that earlier steps computed
  slot: u32,        // slot of the sequence's fixed states
}
