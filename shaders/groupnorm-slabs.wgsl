// The first of GroupNorm's three passes: mean and sum of squared deviations of every channel over a slab of an image's pixels. A
// lane owns four channels. The slab's first pixel is subtracted from the values, so that a large mean costs no precision.
struct Args {
  quads: u32,       // quads of channels from one pixel to the next
  pixels: u32,      // pixels of an image
  slab_pixels: u32,
  slabs: u32,       // slabs of an image
  first_image: u32, // images before this dispatch's first one
  first_slab: u32,  // slabs of that image before this dispatch's first one
  x_first: u32,     // pixels before the binding, over all images
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>; // [image][slab][mean, deviations][channels]

@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let quad = workgroup.x * 32u + local;
  if (quad >= args.quads) {
    return;
  }
  let slab = args.first_slab + workgroup.y;
  let image = args.first_image + workgroup.z;
  let first = slab * args.slab_pixels;
  let last = min(first + args.slab_pixels, args.pixels);
  var at = (image * args.pixels + first - args.x_first) * args.quads + quad;
  let pivot = x[at];
  var sum = vec4f(0.0);
  var squares = vec4f(0.0);
  for (var pixel = first; pixel < last; pixel++) {
    let d = x[at] - pivot;
    sum += d;
    squares = fma(d, d, squares);
    at += args.quads;
  }
  let mean = sum / f32(last - first);
  let to = (image * args.slabs + slab) * 2u * args.quads + quad;
  y[to] = pivot + mean;
  y[to + args.quads] = max(squares - sum * mean, vec4f(0.0));
}
