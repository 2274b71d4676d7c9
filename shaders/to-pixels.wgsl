// Colours in -1 … 1 to bytes: y[image row][column] = red, green, blue and an alpha of 255 from the lowest byte up. Raises a flag if
// a colour is not finite; it tests bits, because compilers may assume that infinities and NaN do not occur.
const WORKGROUP = 64u;

struct Args {
  first: u32,    // pixels before this dispatch in the bound part of the image
  pixels: u32,
  width: u32,
  x_stride: u32, // columns from one pixel to the next
  y_stride: u32, // words from one row of the image to the next
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> y: array<u32>;
@group(0) @binding(3) var<storage, read_write> not_finite: array<atomic<u32>>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) workgroups: vec3u) {
  for (var i = id.x; i < args.pixels; i += workgroups.x * WORKGROUP) {
    let x0 = i * args.x_stride;
    let colour = vec3f(x[x0], x[x0 + 1u], x[x0 + 2u]);
    if (any((bitcast<vec3u>(colour) & vec3u(0x7f800000u)) == vec3u(0x7f800000u))) {
      atomicStore(&not_finite[0], 1u);
    }
    let bytes = vec3u(round(clamp(colour * 0.5 + 0.5, vec3f(0.0), vec3f(1.0)) * 255.0));
    let pixel = args.first + i;
    let place = pixel / args.width * args.y_stride + pixel % args.width;
    y[place] = bytes.x | (bytes.y << 8u) | (bytes.z << 16u) | 0xff000000u;
    if (pixel % args.width + 1u == args.width) { // the last pixel also writes the row's padding
      for (var pad = place + 1u; pad % args.y_stride != 0u; pad++) {
        y[pad] = 0u;
      }
    }
  }
}
