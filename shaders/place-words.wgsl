// Words of four floats of E4M3, one for each 16 of 64 k's, into the layout of lib/scales.e4m3-words.wgsl, bit for bit. One invocation a row and 64
// k's.
#import "lib/k-groups.wgsl"

@group(0) @binding(0) var<storage, read> raw: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let column = part_column(args.first_row + id.x);
  if (id.x >= args.rows || column == NOWHERE) {
    return;
  }
  let word = (args.first_k / 64u + args.first_k_group + id.y) % (SCALED_KS / 64u);
  let at = scale_word(column, first_scale(id.y)) + word * 32u + column % 32u;
  put_bits(at, 0u, 0xffffffffu, raw[id.x * args.row_stride + id.y * args.group_stride]);
}
