// Converts images to sequences of patches, or back, by moving single values. Pixels beyond the image's edge do not occur.
const WORKGROUP = 64u;
// true: image to patches; false: patches to image
const TO_PATCHES = true;
// Order within a patch: true: pixel by pixel; false: channel by channel.
const PIXELS_FIRST = true;

struct Args {
  height: u32,       // height of the image
  width: u32,
  channels: u32,       // channels of a patch
  image_channels: u32, // channels of the image: those of a patch, or the first of them
  size: u32,         // side of a patch in pixels
  tokens: u32,       // tokens of an item in the sequence; at least the number of patches
  first: u32,          // rows of y before those that are written
  rows: u32,           // rows that are written
  image_first: u32,    // pixels before the bound part of the image
  sequence_first: u32, // tokens before the bound part of the sequence
  image_stride: u32, // columns from one pixel to the next
  patch_stride: u32,   // columns from one token to the next
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

struct Pixel {
  item: u32,
  row: u32,
  column: u32,
  channel: u32,
}

fn in_image(at: Pixel) -> u32 {
  let pixel = (at.item * args.height + at.row) * args.width + at.column - args.image_first;
  return pixel * args.image_stride + at.channel;
}

fn in_sequence(at: Pixel) -> u32 {
  let patches_across = args.width / args.size;
  let token = at.row / args.size * patches_across + at.column / args.size;
  let pixel = at.row % args.size * args.size + at.column % args.size;
  let place = select(at.channel * args.size * args.size + pixel, pixel * args.channels + at.channel, PIXELS_FIRST);
  return (at.item * args.tokens + token - args.sequence_first) * args.patch_stride + place;
}

// The pixel and channel of the value at `place` in a token.
fn pixel_of(item: u32, token: u32, place: u32) -> Pixel {
  let area = args.size * args.size;
  let pixel = select(place % area, place / args.channels, PIXELS_FIRST);
  let channel = select(place / area, place % args.channels, PIXELS_FIRST);
  let across = args.width / args.size;
  let row = token / across * args.size + pixel / args.size;
  return Pixel(item, row, token % across * args.size + pixel % args.size, channel);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) workgroups: vec3u) {
  let stride = select(args.image_stride, args.patch_stride, TO_PATCHES);
  let bound = select(args.image_first, args.sequence_first, TO_PATCHES);
  for (var i = id.x; i < args.rows * stride; i += workgroups.x * WORKGROUP) {
    let row = args.first + i / stride;
    let column = i % stride;
    var value = 0.0;
    if (TO_PATCHES) {
      if (column < args.channels * args.size * args.size) {
        value = x[in_image(pixel_of(row / args.tokens, row % args.tokens, column))];
      }
    } else if (column < args.image_channels) {
      let pixel = row % (args.height * args.width);
      let item = row / (args.height * args.width);
      value = x[in_sequence(Pixel(item, pixel / args.width, pixel % args.width, column))];
    }
    y[(row - bound) * stride + column] = value;
  }
}
