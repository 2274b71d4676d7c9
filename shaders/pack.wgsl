// Rows of a checkpoint's matrix into the packed layout of weights/: one invocation a row and block of 32 k's. Rows land at
// columns unit by unit, so that two matrices can be laid side by side or interleaved.
#import "sources/$SOURCE.wgsl"
#import "codes/$W.wgsl"

struct Args {
  rows: u32,        // rows in `raw`
  k: u32,           // values a row
  blocks: u32,      // ceil(k / 32)
  first_row: u32,   // rows of this matrix before `raw`
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

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let row = id.x;
  let b = id.y;
  if (row >= args.rows) {
    return;
  }
  let matrix_row = args.first_row + row;
  let column = args.first_column + matrix_row / args.unit * args.unit_stride + matrix_row % args.unit;
  let group = column / 32u - args.first_group;
  if (column / 32u < args.first_group || group >= args.groups) {
    return;
  }
  var values: array<f32, 32>;
  for (var i = 0u; i < 32u; i++) {
    let k = b * 32u + i;
    if (k < args.k) {
      values[i] = element(row * args.k + k);
    }
  }
  let block = group * args.blocks + b;
  word0 = block * WORDS * 32u + column % 32u;
  encode(&values, block, column % 32u);
}
