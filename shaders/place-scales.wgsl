// Scales of groups of k's into the layouts of lib/scales.zeros.wgsl and of others. One invocation a row and group of k's.
#import "sources/$SOURCE.wgsl"
#import "lib/k-groups.wgsl"

const AFTER = 0u; // words of 32 columns before the scales
const FILL = true; // whether all groups have one zero point, which no tensor holds

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let column = part_column(args.first_row + id.x);
  if (id.x >= args.rows || column == NOWHERE) {
    return;
  }
  let bits = bitcast<u32>(element(id.x * args.row_stride + id.y * args.group_stride));
  for (var scale = first_scale(id.y); scale < last_scale(id.y); scale++) {
    put_bits(scale_word(column, scale) + AFTER + column % 32u, 0u, 0xffffffffu, bits);
    if (FILL) {
      put_zero(column, scale, args.zero);
    }
  }
}
