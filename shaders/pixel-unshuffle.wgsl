// Moves pixels to channels: factor · factor pixels of x become consecutive channels of one pixel, of which each `share` are averaged.
const ADD = false; // whether the values are added to y
const COLUMNS_FIRST = false; // whether the pixels of a column are consecutive channels, not those of a row
const APART = false; // whether the channels of a pixel are consecutive
const WORKGROUP = 64u;

struct Args {
  channels: u32, // channels of y
  width: u32,    // width of y
  factor: u32,
  share: u32,
  deep: u32,     // channels of x
  frame: u32,    // frame that x is, of `frames` whose pixels become channels; the others count as zeros
  frames: u32,
  x_stride: u32, // values from one pixel to the next
  y_quads: u32,  // quads from one pixel to the next
  first: u32,    // pixels of y [first, last), counted over all images
  last: u32,
  x_first: u32,  // pixels before the binding
  y_first: u32,
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;

// A value of the unshuffled image, before averages.
fn value_at(row: u32, column: u32, place: u32) -> f32 {
  let area = args.factor * args.factor;
  var channel = place / area / args.frames;
  var inside = place % area;
  var frame = place / area % args.frames;
  if (APART) {
    channel = place % args.deep;
    inside = place / args.deep % area;
    frame = place / args.deep / area % args.frames;
  }
  if (frame != args.frame) {
    return 0.0;
  }
  let major = inside / args.factor;
  let minor = inside % args.factor;
  let source_row = row * args.factor + select(major, minor, COLUMNS_FIRST);
  let source_column = column * args.factor + select(minor, major, COLUMNS_FIRST);
  let source = source_row * args.width * args.factor + source_column - args.x_first;
  return x[source * args.x_stride + channel];
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) workgroups: vec3u) {
  for (var i = id.x; i < (args.last - args.first) * args.y_quads; i += workgroups.x * WORKGROUP) {
    let pixel = args.first + i / args.y_quads;
    let quad = i % args.y_quads;
    var v: vec4f;
    for (var j = 0u; j < 4u; j++) {
      let channel = 4u * quad + j;
      if (channel < args.channels) {
        var sum = 0.0;
        for (var k = 0u; k < args.share; k++) {
          sum += value_at(pixel / args.width, pixel % args.width, channel * args.share + k);
        }
        v[j] = sum / f32(args.share);
      }
    }
    let at = (pixel - args.y_first) * args.y_quads + quad;
    if (ADD) {
      v += y[at];
    }
    y[at] = v;
  }
}
