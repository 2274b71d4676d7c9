// Arguments of norms of all rows or of chosen ones, and what they read and write.
// Whether only a part of x is bound; rows that are not in it are left to other dispatches.
const WINDOWED = false;

struct Args {
  quads: u32,       // quads of columns per row
  columns: u32,
  eps: f32,
  first_row: u32,   // rows before this strip; this and the following members are for modulation
  item_rows: u32,   // rows that share a row of scale and shift
  scale_quads: u32, // quads from one row of scale to the next
  scale_first: u32, // first quad of the scale's columns
  shift_quads: u32,
  shift_first: u32,
  first_index: u32, // with WINDOWED: entries of the index before this strip
  first_source: u32, // rows of x before the bound ones
  source_rows: u32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;
