// Scales or offsets of 16 bits of groups of k's into the layout of lib/scales.offsets.wgsl, bit for bit. One invocation a row and group of k's.
#import "lib/k-groups.wgsl"

const UPPER = false; // whether the values are the upper halves of words

@group(0) @binding(0) var<storage, read> raw: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let column = part_column(args.first_row + id.x);
  if (id.x >= args.rows || column == NOWHERE) {
    return;
  }
  let at = id.x * args.row_stride + id.y * args.group_stride;
  let half = (raw[at / 2u] >> (at % 2u * 16u)) & 0xffffu;
  for (var scale = first_scale(id.y); scale < last_scale(id.y); scale++) {
    put_bits(scale_word(column, scale) + column % 32u, select(0u, 16u, UPPER), 0xffffu, half);
  }
}
