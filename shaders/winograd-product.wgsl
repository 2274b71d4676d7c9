// The second of Winograd's three steps: on each of the 16 planes, inputs times weights, summed over the channels, in the scheme of
// matmul.wgsl. A workgroup computes all columns of its rows from HELD quads of these rows' channels in a private array, which a CPU
// reads much faster than a buffer. Partial sums are kept in y until the next channels.
#import "weights/$W.wgsl"
#import "lib/rolled.wgsl"
#import "lib/rows.$LANES.wgsl"

const TILES = 2u;
const COLUMN_LANES = 32u;
const HELD = 8u; // quads of channels held at once; a multiple of 8

struct Args {
  x_quads: u32,       // quads of channels from one row to the next
  y_quads: u32,
  plane_rows: u32,    // rows from one plane to the next: a multiple of the tile height
  channel_quads: u32, // quads that hold channels
  plane_blocks: u32,  // blocks of 32 channels per plane
  first_group: u32,   // groups of 32 columns before this window
  groups: u32,        // groups in this window
  turns: u32,         // iterations over COLUMN_LANES columns each
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
  let row0 = workgroup.y * args.plane_rows + workgroup.x * LANES * TILES;
  let x0 = (row0 + lane_row(lanes)) * args.x_quads;

  var held: array<array<vec4f, TILES>, HELD>;
  var sums: array<array<vec4f, LANES>, TILES>; // sums that are loaded from y and stored to it
  for (var first = 0u; first < args.channel_quads; first += HELD) {
    let count = min(HELD, args.channel_quads - first);
    for (var quad = 0u; quad < count; quad++) {
      for (var t = 0u; t < TILES; t++) {
        held[quad][t] = x[x0 + t * LANES * args.x_quads + first + quad];
      }
    }
    for (var turn = 0u; turn < args.turns; turn++) {
      let column = turn * COLUMN_LANES + local;
      let group = min(column / 8u, args.groups - 1u);
      let lane = column % 8u;
      let y_quad = args.first_group * 8u + column;
      let y0 = row0 * args.y_quads + y_quad;
      let is_inside = column / 8u < args.groups && y_quad < args.y_quads;

      for (var i = loop_start(workgroup.x); i < LANES * TILES; i++) {
        sums[i / LANES][i % LANES] = select(vec4f(0.0), y[select(0u, y0 + i * args.y_quads, is_inside)], first > 0u);
      }
      var c = sums;
      let block0 = (group * 16u + workgroup.y) * args.plane_blocks + first / 8u;
      for (var b = 0u; b * 8u < count; b++) {
        let block = block0 + b;
        let block_data = load_block(block, lane);
        let quads = min(8u, count - b * 8u);
        var pack: Pack;
        for (var quad = 0u; quad < quads; quad++) {
          if (quad % (STEP / 4u) == 0u) {
            pack = load_pack(block, quad / (STEP / 4u), lane);
          }
          let w = unpack(pack, block_data, quad);
          for (var t = 0u; t < TILES; t++) {
            fold_quad(&c, t, held[b * 8u + quad][t], w);
          }
        }
      }
      sums = c;
      if (is_inside) {
        for (var i = loop_start(workgroup.x); i < LANES * TILES; i++) {
          y[y0 + i * args.y_quads] = sums[i / LANES][i % LANES];
        }
      }
    }
  }
}
