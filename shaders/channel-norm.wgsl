// RMSNorm over the channels of each pixel, then an activation: y = x / √(mean(x²) + eps) · weight + bias. Eight lanes share a pixel, so that
// they read consecutive quads; their partial sums are added in order.
#import "lib/channel-weight.$WEIGHT.wgsl"
#import "lib/channel-bias.$BIAS.wgsl"
#import "lib/activation.wgsl"
#import "lib/put-pixel.$PUT.wgsl"

const ADD = false; // whether the result is added to y
const PIXELS = 8u; // pixels per workgroup
const LANES = 8u;  // lanes per pixel

struct Args {
  quads: u32,    // quads of channels from one pixel of x to the next
  y_step: u32,   // elements from one pixel of y to the next
  channels: u32,
  pixels: u32,   // pixels of an image
  first: u32,    // pixels [first, last), counted over all images
  last: u32,
  x_first: u32,  // pixels before the binding
  y_first: u32,
  eps: f32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(2) var<uniform> args: Args;

var<workgroup> partial: array<f32, PIXELS * LANES>;

@compute @workgroup_size(PIXELS * LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let pixel = args.first + workgroup.x * PIXELS + local / LANES;
  let is_inside = pixel < args.last;
  let lane = local % LANES;
  let from_x = (pixel - args.x_first) * args.quads;
  var sum = 0.0;
  if (is_inside) {
    for (var i = lane; i < args.quads; i += LANES) {
      let v = x[from_x + i];
      sum += dot(v, v);
    }
  }
  partial[local] = sum;
  workgroupBarrier();
  if (!is_inside) {
    return;
  }
  sum = 0.0;
  for (var i = 0u; i < LANES; i++) {
    sum += partial[local - lane + i];
  }
  let rate = inverseSqrt(max(sum, 1e-24) / f32(args.channels) + args.eps); // a length is at least 1e-12, as in torch
  let to_y = (pixel - args.y_first) * args.y_step;
  for (var i = lane; i < args.quads; i += LANES) {
    var v = activate(biased(weighted(x[from_x + i] * rate, i), i));
    if (ADD) {
      v += kept(to_y + i);
    }
    put(to_y + i, pixel / args.pixels, v);
  }
}
