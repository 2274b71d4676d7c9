// Codes of 4 or 8 bits that a tensor of their own holds in words into the packed layout of lib/codes.4.wgsl or lib/codes.unsigned.wgsl, bit for
// bit. One invocation a row and the k's of one packed word.
#import "lib/part-column.wgsl"
#import "lib/code-words.$LAYOUT.wgsl"
#import "lib/put-word.$PLACES.wgsl"

const BITS = 4u;
const SIGNED = false; // whether codes are signed: half of their range is added
const PER = 32u / BITS;
const MASK = (1u << BITS) - 1u;

struct Args {
  rows: u32,      // rows in `raw`
  first_row: u32, // rows of the part before `raw`; wraps round where the part begins within it
  first_k: u32,   // k's before `raw`
  words: u32,     // words of a row of the file's tensor
  blocks: u32,    // k / 32
  part_rows: u32,
  unit: u32,      // rows that stay together
  unit_stride: u32, // columns from one unit to the next
  first_column: u32,
  first_group: u32, // groups of 32 columns before this window
  groups: u32,      // groups in this window
}

@group(0) @binding(0) var<storage, read> raw: array<u32>;
@group(0) @binding(1) var<storage, read_write> codes: array<atomic<u32>>;
@group(0) @binding(2) var<uniform> args: Args;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let column = part_column(args.first_row + id.x);
  if (id.x >= args.rows || column == NOWHERE) {
    return;
  }
  var word = 0u;
  for (var i = 0u; i < PER; i++) {
    word |= code_at(id.x, id.y * PER + i) << (i * BITS);
  }
  if (SIGNED) {
    word ^= 0x80808080u;
  }
  let words = args.blocks * BITS; // of a column
  put_word(column / 32u * words * 32u + column % 32u, args.first_k + id.y * PER, word);
}
