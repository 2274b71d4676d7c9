// Scales NHWC images by interpolation between the four nearest pixels, and takes a part of the result; a lane for four channels of a pixel.
const WORKGROUP = 64u;

struct Args {
  quads: u32,        // quads from one pixel to the next, in x and in y
  x_height: u32,
  x_width: u32,
  height: u32,       // height of y
  width: u32,
  top: u32,          // rows of the scaled image before those of y
  left: u32,
  rate_y: f32,       // rows of x for a row of the scaled image
  rate_x: f32,
  first: u32,        // pixels of y [first, last), counted over all images
  last: u32,
  x_first: u32,      // pixels before the binding
  y_first: u32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;

// The place in x of a place in the scaled image.
fn place(at: u32, rate: f32) -> f32 {
  return max((f32(at) + 0.5) * rate - 0.5, 0.0);
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) workgroups: vec3u) {
  for (var i = id.x; i < (args.last - args.first) * args.quads; i += workgroups.x * WORKGROUP) {
    let pixel = args.first + i / args.quads;
    let quad = i % args.quads;
    let row = pixel / args.width;
    let down = place(args.top + row % args.height, args.rate_y);
    let across = place(args.left + pixel % args.width, args.rate_x);
    let above = min(u32(down), args.x_height - 1u);
    let before = min(u32(across), args.x_width - 1u);
    let below = min(above + 1u, args.x_height - 1u);
    let behind = min(before + 1u, args.x_width - 1u);
    let far = vec2f(across - f32(before), down - f32(above));
    let image = row / args.height * args.x_height;
    let upper = (image + above) * args.x_width - args.x_first;
    let lower = (image + below) * args.x_width - args.x_first;
    let up = mix(x[(upper + before) * args.quads + quad], x[(upper + behind) * args.quads + quad], far.x);
    let low = mix(x[(lower + before) * args.quads + quad], x[(lower + behind) * args.quads + quad], far.x);
    y[(pixel - args.y_first) * args.quads + quad] = mix(up, low, far.y);
  }
}
