// Zero points of groups of k's, packed along rows, into the layout of lib/scales.zeros.wgsl. One invocation a row and group of k's.
#import "lib/k-groups.wgsl"

const BITS = 4u;
const INTERLEAVED = false; // whether the eight rows of a word are in AWQ's order: 0, 2, 4, 6, 1, 3, 5, 7
const PER = 32u / BITS;
const MASK = (1u << BITS) - 1u;

@group(0) @binding(0) var<storage, read> raw: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let column = part_column(args.first_row + id.x);
  if (id.x >= args.rows || column == NOWHERE) {
    return;
  }
  let row = id.x % PER;
  let slot = select(row, row / 2u + row % 2u * 4u, INTERLEAVED);
  let word = raw[id.x / PER * args.row_stride + id.y * args.group_stride] + args.zero;
  for (var scale = first_scale(id.y); scale < last_scale(id.y); scale++) {
    put_zero(column, scale, (word >> (slot * BITS)) & MASK);
  }
}
