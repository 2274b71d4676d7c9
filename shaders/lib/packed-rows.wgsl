// Columns of the packed layout that rows of a checkpoint's matrix land at, and the words of one block of 32 k's there.
#import "lib/part-column.wgsl"

struct Args {
  rows: u32,        // rows in `raw`
  k: u32,           // values a tap; k's of `raw` where it is transposed
  first_block: u32, // blocks before those of `raw`
  taps: u32,        // taps a row as packed
  blocks: u32,      // taps · ceil(k / 32)
  first_row: u32,   // rows of the tensor from the part's first to that of `raw`; wraps round where the part begins within it
  row_step: u32,    // rows of the tensor from one row of the part to the next
  part_rows: u32,
  unit: u32,        // rows that stay together
  unit_stride: u32, // columns from one unit to the next
  first_column: u32,
  first_group: u32, // groups of 32 columns before this window
  groups: u32,      // groups in this window
}

@group(0) @binding(1) var<storage, read_write> codes: array<u32>;
@group(0) @binding(2) var<uniform> args: Args;

var<private> word0: u32;

fn put(i: u32, word: u32) {
  codes[word0 + i * 32u] = word;
}

// The column of a row of `raw`, counted over the groups of this window; NOWHERE where the row does not belong to the part or the window.
fn column_of(row: u32) -> u32 {
  let from_first = args.first_row + row;
  let is_part = row < args.rows && from_first % args.row_step == 0u;
  return select(NOWHERE, part_column(from_first / args.row_step), is_part);
}

// Takes block b of a column as the one that put() writes, and returns its number over all groups. `words`: those of its codes.
fn begin_block(column: u32, b: u32, words: u32) -> u32 {
  let block = column / 32u * args.blocks + b;
  word0 = block * words * 32u + column % 32u;
  return block;
}
