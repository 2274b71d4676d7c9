// Moves channels to pixels: each pixel of x becomes factor · factor pixels of y, from consecutive channels. `share` consecutive values of
// y's channels and pixels read one channel of x.
const ADD = false; // whether the values are added to y
const COLUMNS_FIRST = false; // whether consecutive channels are the pixels of a column, not of a row
const APART = false; // whether the channels of a pixel are consecutive
const WORKGROUP = 64u;

struct Args {
  channels: u32, // channels of y
  width: u32,    // width of y
  factor: u32,
  share: u32,
  deep: u32,     // APART: channels of x for a pixel
  period: u32,   // channels of y after which those of x begin again
  frame: u32,    // frame that y is, of `frames` that the channels of x become before they become pixels
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

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) workgroups: vec3u) {
  let area = args.factor * args.factor;
  for (var i = id.x; i < (args.last - args.first) * args.y_quads; i += workgroups.x * WORKGROUP) {
    let pixel = args.first + i / args.y_quads;
    let quad = i % args.y_quads;
    let row = pixel / args.width;
    let column = pixel % args.width;
    let at_row = row % args.factor;
    let at_column = column % args.factor;
    let inside = select(at_row * args.factor + at_column, at_column * args.factor + at_row, COLUMNS_FIRST);
    let source = row / args.factor * (args.width / args.factor) + column / args.factor - args.x_first;
    var v: vec4f;
    for (var j = 0u; j < 4u; j++) {
      let channel = 4u * quad + j;
      if (channel < args.channels) {
        var at = ((channel % args.period * args.frames + args.frame) * area + inside) / args.share;
        if (APART) {
          at = (args.frame * area + inside) * args.deep + channel / args.share;
        }
        v[j] = x[source * args.x_stride + at];
      }
    }
    let at = (pixel - args.y_first) * args.y_quads + quad;
    if (ADD) {
      v += y[at];
    }
    y[at] = v;
  }
}
