// 3×3 and 1×1 convolutions of NHWC images as one matrix product: rows are pixels, k's run tap by tap over the channels. The scheme
// is that of matmul.wgsl: a lane owns four output channels, each lane holds one pixel, and pixels are broadcast. Every output sums
// its k's in order within a split, and the splits in order, so that neither the batch nor the strip changes it.
diagnostic(off, subgroup_uniformity); // each split consists of whole subgroups
#import "weights/$W.wgsl"
#import "lib/rows.$LANES.wgsl"
#import "lib/addend.$ADDEND.wgsl"
#import "lib/residual.$RESIDUAL.wgsl"
#import "lib/activation.wgsl"
#import "lib/conv2d-args.wgsl"
#import "lib/pixels.wgsl"
#import "lib/pixel-floats.wgsl"
#import "lib/rolled.wgsl"
#import "lib/splits.wgsl"

const TILES = 2u;
const COLUMN_LANES = 32u;
const SPLITS = 1u;
const FILLS_REGISTERS = true;

@compute @workgroup_size(COLUMN_LANES * SPLITS)
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(local_invocation_index) local: u32,
  lanes: Lanes,
) {
  let column = workgroup.x * COLUMN_LANES + local % COLUMN_LANES;
  let split = local / COLUMN_LANES;
  let group = min(column / 8u, args.groups - 1u);
  let lane = column % 8u;
  let first = args.first + workgroup.y * LANES * TILES;

  var pixels: array<Pixel, TILES>;
  for (var t = 0u; t < TILES; t++) {
    pixels[t] = locate(first + t * LANES + lane_row(lanes));
  }
  var c: array<array<vec4f, LANES>, TILES>;
  let last = args.blocks * (split + 1u) / SPLITS;
  for (var b = args.blocks * split / SPLITS; b < last;) {
    let tap = b / args.tap_blocks;
    var at: array<u32, TILES>;
    for (var t = 0u; t < TILES; t++) {
      at[t] = under(pixels[t], tap);
    }
    let tap_end = min(last, (tap + 1u) * args.tap_blocks);
    for (; b < tap_end; b++) {
      let x_quad = (b - tap * args.tap_blocks) * 8u;
      let block = group * args.blocks + b;
      let block_data = load_block(block, lane);
      let quads = min(8u, args.channel_quads - x_quad);
      var pack: Pack;
      for (var quad = 0u; quad < quads; quad++) {
        if (quad % (STEP / 4u) == 0u) {
          pack = load_pack(block, quad / (STEP / 4u), lane);
        }
        let w = unpack(pack, block_data, quad);
        var xs: array<vec4f, TILES>;
        for (var t = 0u; t < TILES; t++) {
          xs[t] = load(at[t], x_quad + quad);
        }
        for (var t = 0u; t < TILES; t++) {
          fold_quad(&c, t, xs[t], w);
        }
      }
    }
  }

  let y_quad = args.first_group * 8u + column;
  let inside = column / 8u < args.groups && y_quad < args.y_quads;
  var sums = c;
  for (var i = loop_start(workgroup.y); i < LANES * TILES; i++) {
    let sum = sum_splits(sums[i / LANES][i % LANES], local, split);
    let pixel = first + i;
    if (inside && split == 0u && pixel < args.last) {
      let image = pixel / (args.y_height * args.y_width);
      let at = (pixel - args.y_first) * args.y_quads + y_quad;
      y[at] = activate(sum + addend(image, y_quad) + residual_at(at));
    }
  }
}
