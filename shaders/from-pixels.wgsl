// Bytes to colours in -1 … 1, or in 0 … 1; alpha is left out.
const CENTRED = true;
const WORKGROUP = 64u;

struct Args {
  first: u32,    // pixels before this dispatch in the bound part of the image
  pixels: u32,
  width: u32,
  x_stride: u32, // words from one row of the image to the next
  y_quads: u32,  // quads of columns from one pixel to the next
}

@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) workgroups: vec3u) {
  for (var i = id.x; i < args.pixels * args.y_quads; i += workgroups.x * WORKGROUP) {
    let pixel = args.first + i / args.y_quads;
    let word = x[pixel / args.width * args.x_stride + pixel % args.width];
    let bytes = (vec3u(word) >> vec3u(0u, 8u, 16u)) & vec3u(255u);
    let share = vec3f(bytes) / 255.0;
    let colour = vec4f(select(share, vec3f(bytes) / 127.5 - 1.0, CENTRED), 0.0);
    y[i] = select(vec4f(0.0), colour, i % args.y_quads == 0u);
  }
}
