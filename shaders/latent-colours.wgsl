// Colours of single latents, y = Σ x · factors + offset, clamped to -1 … 1: what a linear map can show of a picture.
const WORKGROUP = 64u;

struct Args {
  pixels: u32,
  channels: u32,
  x_stride: u32,
  y_quads: u32,
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> factors: array<vec4f>; // red, green, blue of each channel, then the offset
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  for (var pixel = id.x; pixel < args.pixels; pixel += groups.x * WORKGROUP) {
    var colour = factors[args.channels];
    for (var c = 0u; c < args.channels; c++) {
      colour += x[pixel * args.x_stride + c] * factors[c];
    }
    y[pixel * args.y_quads] = vec4f(clamp(colour.xyz, vec3f(-1.0), vec3f(1.0)), 0.0);
    for (var quad = 1u; quad < args.y_quads; quad++) {
      y[pixel * args.y_quads + quad] = vec4f(0.0);
    }
  }
}
