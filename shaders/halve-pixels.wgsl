// Pixels of images as f16, for convolutions on matrix units: all pixels of an image are multiplied by its factor before they are rounded.
#import "lib/half-factors.wgsl"

const LANES = 64u;
const PIXELS = 16u; // pixels per workgroup

struct Args {
  x_quads: u32, // quads of channels from one pixel of x to the next
  quads: u32,   // quads that hold channels of x
  y_quads: u32, // quads of words from one pixel of y to the next
  pixels: u32,  // pixels of an image
  first: u32,   // pixels [first, last), counted over all images
  last: u32,
  x_first: u32, // pixels before the binding
  y_first: u32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> factors: array<vec2f>; // [image]; 16 apart
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<vec4u>; // [pixel][channel / 8]

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let first = args.first + workgroup.x * PIXELS;
  let count = min(PIXELS, args.last - first) * args.y_quads;
  for (var item = local; item < count; item += LANES) {
    let pixel = first + item / args.y_quads;
    let eighth = item % args.y_quads;
    let factor = factors[pixel / args.pixels * 16u].x;
    let x0 = (pixel - args.x_first) * args.x_quads;
    let values = vec4u(halved(x0, 2u * eighth, factor), halved(x0, 2u * eighth + 1u, factor));
    y[(pixel - args.y_first) * args.y_quads + eighth] = values;
  }
}

// Zeros after the last channel.
fn halved(x0: u32, quad: u32, factor: f32) -> vec2u {
  return halves(select(vec4f(0.0), x[x0 + min(quad, args.quads - 1u)] * factor, quad < args.quads));
}
