// Scales that a tensor of their own holds, for all of a matrix, for rows, or for tiles of rows and 128 k's, to the columns and blocks of
// lib/scales.float.wgsl: one invocation per row of the part and 128 k's.
#import "sources/$SOURCE.wgsl"

struct Args {
  part_rows: u32,
  first_row: u32,   // rows of the tensor before the part
  row_step: u32,    // rows of the tensor from one row of the part to the next
  tile_rows: u32,   // rows that share a scale
  tile_blocks: u32, // scales along k
  blocks: u32,      // of 128 k's
  unit: u32,        // consecutive rows of one unit
  unit_stride: u32, // columns from one unit to the next
  first_column: u32,
  first_group: u32, // groups of 32 columns before this window
  groups: u32,      // groups in this window
}

@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> scales: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let column = args.first_column + id.x / args.unit * args.unit_stride + id.x % args.unit;
  let group = column / 32u - args.first_group;
  if (id.x >= args.part_rows || column / 32u < args.first_group || group >= args.groups) {
    return;
  }
  let tile = (args.first_row + id.x * args.row_step) / args.tile_rows;
  let scale = element(tile * args.tile_blocks + min(id.y, args.tile_blocks - 1u));
  scales[(group * args.blocks + id.y) * 32u + column % 32u] = scale;
}
