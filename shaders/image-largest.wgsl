// The largest magnitude of a slab of an image's pixels, the first of two passes to the factor of an image in f16. One workgroup a slab.
#import "lib/largest-magnitude.wgsl"

struct Args {
  quads: u32,       // quads of channels from one pixel to the next; those that pad them hold zeros
  pixels: u32,      // pixels of an image
  slab_pixels: u32,
  y_stride: u32,    // numbers from one image of y to the next
  first_image: u32, // images before this dispatch's first one
  first_slab: u32,  // slabs of that image before this dispatch's first one
  x_first: u32,     // pixels before the binding, over all images
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> y: array<f32>; // [image][slab]

const LOADS = 4u; // before the first is used

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let slab = args.first_slab + workgroup.x;
  let image = args.first_image + workgroup.y;
  let first = slab * args.slab_pixels;
  let last = min(first + args.slab_pixels, args.pixels);
  let before = image * args.pixels - args.x_first; // wraps round where the binding begins within the image
  let end = (before + last) * args.quads;
  var most = vec4f(0.0);
  for (var at = (before + first) * args.quads + local; at < end; at += LOADS * LANES) {
    var v = array<vec4f, LOADS>();
    for (var i = 0u; i < LOADS; i++) {
      v[i] = x[min(at + i * LANES, end - 1u)];
    }
    for (var i = 0u; i < LOADS; i++) {
      most = max(most, abs(v[i]));
    }
  }
  let largest = largest_of(largest_part(most), local);
  if (local == 0u) {
    y[image * args.y_stride + slab] = largest;
  }
}
