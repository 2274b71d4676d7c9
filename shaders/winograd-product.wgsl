// The second step: on each of the 16 planes, inputs times weights, summed over the channels; the scheme of matmul.wgsl. Workgroups
// with the same weights follow each other, so that these are read from memory once.
#import "weights/$W.wgsl"
#import "lib/rows.$LANES.wgsl"

const TILES = 2u;
const COLUMN_LANES = 32u;
const ROLLED = false; // the stores are a loop, as in conv2d.wgsl

struct Args {
  x_quads: u32,       // quads of channels from one row to the next
  y_quads: u32,
  plane_rows: u32,    // rows from one plane to the next: whole tiles
  channel_quads: u32, // quads that hold channels
  plane_blocks: u32,  // blocks of 32 channels a plane
  first_group: u32,   // groups of 32 columns before this window
  groups: u32,        // groups in this window
  tile_rows: u32,     // rows of a tile, known too late for drivers to unroll the stores
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(COLUMN_LANES)
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(local_invocation_index) local: u32,
  lanes: Lanes,
) {
  let column = workgroup.y * COLUMN_LANES + local;
  let group = min(column / 8u, args.groups - 1u);
  let lane = column % 8u;
  let row0 = workgroup.z * args.plane_rows + workgroup.x * LANES * TILES;
  let x0 = (row0 + lane_row(lanes)) * args.x_quads;

  var c: array<array<vec4f, LANES>, TILES>;
  for (var b = 0u; b < args.plane_blocks; b++) {
    let block = (group * 16u + workgroup.z) * args.plane_blocks + b;
    let scale = load_scale(block, lane);
    let quads = min(8u, args.channel_quads - b * 8u);
    var pack: Pack;
    for (var quad = 0u; quad < quads; quad++) {
      if (quad % (STEP / 4u) == 0u) {
        pack = load_pack(block * (32u / STEP) + quad / (STEP / 4u), lane);
      }
      let w = unpack(pack, scale, quad % (STEP / 4u));
      var xs: array<vec4f, TILES>;
      for (var t = 0u; t < TILES; t++) {
        xs[t] = x[x0 + t * LANES * args.x_quads + b * 8u + quad];
      }
      for (var t = 0u; t < TILES; t++) {
        fold_quad(&c[t], xs[t], w);
      }
    }
  }

  let y_quad = args.first_group * 8u + column;
  if (column / 8u < args.groups && y_quad < args.y_quads) {
    var sums = c;
    for (var i = 0u; i < select(LANES * TILES, args.tile_rows, ROLLED); i++) {
      y[(row0 + i) * args.y_quads + y_quad] = sums[i / LANES][i % LANES];
    }
  }
}
