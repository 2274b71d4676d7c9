// Zero points of groups of k's, packed along rows or signed bytes, into the layout of lib/scales.zeros.wgsl. One invocation a row and group of k's.
#import "lib/k-groups.wgsl"

const BITS = 4u;
const BYTES = false; // whether each is a signed byte: half of the codes' range is added
const INTERLEAVED = false; // whether the eight rows of a word are in AWQ's order: 0, 2, 4, 6, 1, 3, 5, 7
const PER = 32u / BITS;
const MASK = (1u << BITS) - 1u;

@group(0) @binding(0) var<storage, read> raw: array<u32>;

fn zero_at(row: u32, k_group: u32) -> u32 {
  if (BYTES) {
    let at = row * args.row_stride + k_group * args.group_stride;
    return ((raw[at / 4u] >> (8u * (at % 4u))) + (MASK + 1u) / 2u) & MASK;
  }
  let i = row % PER;
  let slot = select(i, i / 2u + i % 2u * 4u, INTERLEAVED);
  let word = raw[row / PER * args.row_stride + k_group * args.group_stride] + args.zero;
  return (word >> (slot * BITS)) & MASK;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let column = part_column(args.first_row + id.x);
  if (id.x >= args.rows || column == NOWHERE) {
    return;
  }
  let zero = zero_at(id.x, id.y);
  for (var scale = first_scale(id.y); scale < last_scale(id.y); scale++) {
    put_zero(column, scale, zero);
  }
}
