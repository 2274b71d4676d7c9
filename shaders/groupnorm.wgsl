// The last of GroupNorm's three passes: y = (x - mean) · scale + bias, then SiLU. A lane owns four channels of some consecutive
// pixels.
#import "lib/put-pixel.$PUT.wgsl"

const SILU = false;
const PIXELS = 16u; // pixels per workgroup

struct Args {
  quads: u32,       // quads of channels from one pixel of x to the next
  y_step: u32,      // elements from one pixel of y to the next
  pixels: u32,      // pixels of an image
  first_image: u32, // images before this dispatch's first one
  first: u32,       // pixels [first, last) of each image
  last: u32,
  x_first: u32,     // pixels before the binding, over all images
  y_first: u32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> moments: array<vec4f>; // [image][mean, scale][channels]
@group(0) @binding(2) var<storage, read> bias: array<vec4f>;
@group(0) @binding(3) var<uniform> args: Args;

@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let quad = workgroup.x * 32u + local;
  if (quad >= args.quads) {
    return;
  }
  let image = args.first_image + workgroup.z;
  let mean = moments[image * 2u * args.quads + quad];
  let scale = moments[(image * 2u + 1u) * args.quads + quad];
  let shift = bias[quad];
  let first = args.first + workgroup.y * PIXELS;
  let last = min(first + PIXELS, args.last);
  var from_x = (image * args.pixels + first - args.x_first) * args.quads + quad;
  var to_y = (image * args.pixels + first - args.y_first) * args.y_step + quad;
  for (var pixel = first; pixel < last; pixel++) {
    var v = fma(x[from_x] - mean, scale, shift);
    if (SILU) {
      v = v / (1.0 + exp(min(-v, vec4f(80.0)))); // clamped, because exp overflows f32 far below zero
    }
    put(to_y, image, v);
    from_x += args.quads;
    to_y += args.y_step;
  }
}
