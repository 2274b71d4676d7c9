// Arguments of products of many rows.

struct Args {
  x_quads: u32,     // elements from one row of x to the next
  y_quads: u32,     // quads from one row of y to the next; pairs if the store halves the columns
  blocks: u32,      // K / 32
  first_group: u32, // groups of 32 columns before this window
  groups: u32,      // groups in this window
  rows: u32,        // rows of x and y in this strip; the last tile may extend beyond them
  expert_groups: u32, // groups of one expert's columns, if there are experts
}

@group(0) @binding(3) var<uniform> args: Args;
