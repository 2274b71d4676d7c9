// 3×3 and 1×1 convolutions of NHWC images as one matrix product: rows are pixels, k's run tap by tap over the channels. The scheme
// is that of matmul.wgsl: a lane owns four output channels, each lane holds one pixel, and pixels are broadcast. Every output sums
// its k's in order within a split, and the splits in order, so that neither the batch nor the strip changes it.
diagnostic(off, subgroup_uniformity); // each split consists of whole subgroups
#import "weights/$W.wgsl"
#import "lib/rows.$LANES.wgsl"
#import "lib/addend.$ADDEND.wgsl"
#import "lib/residual.$RESIDUAL.wgsl"
#import "lib/activation.wgsl"
#import "lib/splits.wgsl"

const TILES = 2u;
const COLUMN_LANES = 32u;
const SPLITS = 1u;
const ROLLED = false; // true for CPUs, which compile one store faster; a GPU keeps sums in registers only without the loop
const UPSAMPLED = false;

struct Args {
  x_quads: u32,       // quads of channels from one pixel of x to the next
  y_quads: u32,
  image_quads: u32,   // quads from the vector of one image to that of the next
  image_first: u32,   // quad at which the vector begins
  columns: u32,       // output channels
  channel_quads: u32, // quads that hold channels of x
  tap_blocks: u32,    // blocks of 32 channels per tap
  blocks: u32,        // blocks of 32 k's of all taps
  kernel: u32,        // side of the kernel, 3 or 1
  stride: u32,
  pad: u32,           // rows and columns of zeros above and to the left
  x_height: u32,
  x_width: u32,
  height: u32,        // height of x as the taps see it, after upsampling
  width: u32,
  y_height: u32,
  y_width: u32,
  first: u32,         // pixels [first, last) of y, counted over all images
  last: u32,
  x_first: u32,       // pixels of x before the binding
  y_first: u32,
  first_group: u32,   // groups of 32 columns before this window
  groups: u32,        // groups in this window
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;

struct Pixel {
  image: u32, // pixels of x before this image, minus those before the binding
  row: u32,   // row of the first tap; wraps round above the image
  column: u32,
}

fn locate(index: u32) -> Pixel {
  let pixel = min(index, args.last - 1u);
  let row = pixel / args.y_width;
  return Pixel(
    row / args.y_height * args.x_height * args.x_width - args.x_first,
    row % args.y_height * args.stride - args.pad,
    pixel % args.y_width * args.stride - args.pad,
  );
}

// Index in x of the pixel under a tap; ~0 outside the image.
fn under(pixel: Pixel, tap: u32) -> u32 {
  var row = pixel.row + tap / args.kernel;
  var column = pixel.column + tap % args.kernel;
  let inside = row < args.height && column < args.width;
  if (UPSAMPLED) {
    row = row * args.x_height / args.height;
    column = column * args.x_width / args.width;
  }
  return select(0xffffffffu, (pixel.image + row * args.x_width + column) * args.x_quads, inside);
}

fn load(at: u32, quad: u32) -> vec4f {
  return select(vec4f(0.0), x[select(0u, at + quad, at != 0xffffffffu)], at != 0xffffffffu);
}

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
  let count = min(args.last - first, LANES * TILES);
  var sums = c;
  for (var i = 0u; i < select(LANES * TILES, count, ROLLED); i++) {
    let sum = sum_splits(sums[i / LANES][i % LANES], local, split);
    if (inside && split == 0u && i < count) {
      let image = (first + i) / (args.y_height * args.y_width);
      let at = (first + i - args.y_first) * args.y_quads + y_quad;
      y[at] = activate(sum + addend(image, y_quad) + residual_at(at));
    }
  }
}
