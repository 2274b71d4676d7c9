// Values of groups of k's that are narrower than a word, bit for bit: scales or offsets of 16 bits, or exponents of 8. One invocation a row and
// group of k's.
#import "lib/k-groups.wgsl"

const BITS = 16u;   // of a value
const STRIDE = 32u; // bits from one column's value to the next's
const FIRST = 0u;   // bits before the value of a column

@group(0) @binding(0) var<storage, read> raw: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let column = part_column(args.first_row + id.x);
  if (id.x >= args.rows || column == NOWHERE) {
    return;
  }
  let mask = (1u << BITS) - 1u;
  let first = (id.x * args.row_stride + id.y * args.group_stride) * BITS;
  let value = (raw[first / 32u] >> (first % 32u)) & mask;
  let bit = column % 32u * STRIDE + FIRST;
  for (var scale = first_scale(id.y); scale < last_scale(id.y); scale++) {
    put_bits(scale_word(column, scale) + bit / 32u, bit % 32u, mask, value);
  }
}
