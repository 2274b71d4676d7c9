// Rows of a checkpoint's matrix into the packed layout of weights/: one invocation a row and block of 32 k's. Rows land at
// columns unit by unit, so that two matrices can be laid side by side or interleaved. A convolution's rows [in, kh, kw] are
// laid down tap by tap, the channels of each padded to whole blocks.
#import "sources/$SOURCE.wgsl"
#import "codes/$W.wgsl"

struct Args {
  rows: u32,        // rows in `raw`
  k: u32,           // values a tap
  taps: u32,        // taps a row: kh · kw, or 1
  blocks: u32,      // taps · ceil(k / 32)
  first_row: u32,   // rows of the part before `raw`; wraps round where the part begins within it
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

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let row = id.x;
  let b = id.y;
  if (row >= args.rows) {
    return;
  }
  let matrix_row = args.first_row + row;
  if (matrix_row >= args.part_rows) {
    return;
  }
  let column = args.first_column + matrix_row / args.unit * args.unit_stride + matrix_row % args.unit;
  let group = column / 32u - args.first_group;
  if (column / 32u < args.first_group || group >= args.groups) {
    return;
  }
  var values: array<f32, 32>;
  let tap_blocks = args.blocks / args.taps;
  for (var i = 0u; i < 32u; i++) {
    let k = b % tap_blocks * 32u + i;
    if (k < args.k) {
      values[i] = element((row * args.k + k) * args.taps + b / tap_blocks);
    }
  }
  let block = group * args.blocks + b;
  word0 = block * WORDS * 32u + column % 32u;
  encode(&values, block, column % 32u);
}
