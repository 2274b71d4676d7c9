// Latents between an autoencoder and a denoiser, in a range of columns; padding becomes zero.
//   SAMPLE: y = (mean + exp(½ · log variance) · noise − shift) · scale; x holds means, then logarithms of variances
//   otherwise: y = x / scale + shift
const SAMPLE = true;
const WORKGROUP = 64u;

struct Args {
  values: u32,     // values of y, including padding
  columns: u32,    // columns of y
  stride: u32,     // values from one row of y to the next
  x_stride: u32,
  first: u32,      // first column to write
  end: u32,
  scale: f32,
  shift: f32,
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> noise: array<f32>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  for (var i = id.x; i < args.values; i += groups.x * WORKGROUP) {
    let row = i / args.stride;
    let column = i % args.stride;
    if (column < args.first || column >= args.end) {
      continue;
    }
    var value = 0.0;
    if (column < args.columns) {
      let at = row * args.x_stride + column;
      if (SAMPLE) {
        let spread = exp(0.5 * clamp(x[at + args.columns], -30.0, 20.0));
        value = (x[at] + spread * noise[i] - args.shift) * args.scale;
      } else {
        value = x[at] / args.scale + args.shift;
      }
    }
    y[i] = value;
  }
}
