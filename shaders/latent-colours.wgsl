// Colours of latents by a linear map, y = Σ x · factors + offset, clamped to -1 … 1. Each latent becomes a square of side × side
// pixels.
const WORKGROUP = 64u;

struct Args {
  width: u32,  // latents in a row
  pixels: u32, // latents of the image
  side: u32,
  channels: u32,
  x_stride: u32,
  y_quads: u32,
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> factors: array<vec4f>; // [channels + 1][side][side], the offset last
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let columns = args.width * args.side;
  let area = args.side * args.side;
  for (var pixel = id.x; pixel < args.pixels; pixel += groups.x * WORKGROUP) {
    let row = pixel / columns;
    let column = pixel % columns;
    let latent = row / args.side * args.width + column / args.side;
    let place = row % args.side * args.side + column % args.side;
    var colour = factors[args.channels * area + place];
    for (var c = 0u; c < args.channels; c++) {
      colour += x[latent * args.x_stride + c] * factors[c * area + place];
    }
    y[pixel * args.y_quads] = vec4f(clamp(colour.xyz, vec3f(-1.0), vec3f(1.0)), 0.0);
    for (var quad = 1u; quad < args.y_quads; quad++) {
      y[pixel * args.y_quads + quad] = vec4f(0.0);
    }
  }
}
