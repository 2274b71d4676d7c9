// Values of groups of k's that tensors of their own hold: for 32 columns and SCALED_KS k's the scales, column by column, then what follows them.
#import "lib/part-column.wgsl"
#import "lib/put-scales.wgsl"

const SCALED_KS = 128u; // k's of a scale as packed
const SCALE_WORDS = 40u; // words of 32 columns' values

struct Args {
  rows: u32,        // rows in `raw`
  first_row: u32,   // rows of the part before `raw`; wraps round where the part begins within it
  k_groups: u32,    // groups of k's in `raw`
  first_k_group: u32, // groups of k's before `raw`
  group_ks: u32,    // k's of a group
  k: u32,
  first_k: u32,     // k's as packed before those of the part
  scales_of_row: u32, // scales as packed of a column
  row_stride: u32,  // values, or words of zero points, from one row to the next
  group_stride: u32, // from one group of k's to the next
  zero: u32,        // zero point of all groups, or what is added to words of zero points
  part_rows: u32,
  unit: u32,        // rows that stay together
  unit_stride: u32, // columns from one unit to the next
  first_column: u32,
  first_group: u32, // groups of 32 columns before this window
  groups: u32,      // groups in this window
}

@group(0) @binding(1) var<uniform> args: Args;

// Scales as packed that a group of k's has: from the first to the one before the last.
fn first_scale(k_group: u32) -> u32 {
  return (args.first_k + (args.first_k_group + k_group) * args.group_ks) / SCALED_KS;
}

fn last_scale(k_group: u32) -> u32 {
  return (args.first_k + min((args.first_k_group + k_group + 1u) * args.group_ks, args.k)) / SCALED_KS;
}

// The word at which 32 columns' values begin.
fn scale_word(column: u32, scale: u32) -> u32 {
  return (column / 32u * args.scales_of_row + scale) * SCALE_WORDS;
}

// Zero points follow the scales.
fn put_zero(column: u32, scale: u32, zero: u32) {
  put_byte(4u * (scale_word(column, scale) + 32u) + column % 32u, zero);
}
