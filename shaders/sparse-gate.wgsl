// gelu(max(gate − cutoff, 0)) · up with gelu by tanh, of gates and as many ups behind them. The cutoff lies so many standard deviations above the
// mean of the row's gates that a stated share of normally distributed ones is below it. A workgroup per row.
#import "lib/activate.gelu-tanh.wgsl"
#import "lib/four-sums.wgsl"
alias Activated = vec4f;

struct Args {
  quads: u32,      // quads of gates
  x_stride: u32,   // quads from one row of x to the next
  y_stride: u32,
  deviations: f32, // of the cutoff above the mean
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;

fn mean(sums: vec4f, local: u32) -> f32 {
  return dot(sums_of_lanes(sums, local), vec4f(1.0)) / (4.0 * f32(args.quads));
}

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let first = args.x_stride * workgroup.x;
  var sum = vec4f(0.0);
  for (var i = local; i < args.quads; i += LANES) {
    sum += x[first + i];
  }
  let centre = mean(sum, local);
  var squares = vec4f(0.0);
  for (var i = local; i < args.quads; i += LANES) {
    let v = x[first + i] - centre;
    squares += v * v;
  }
  let cutoff = centre + args.deviations * sqrt(mean(squares, local));
  for (var i = local; i < args.y_stride; i += LANES) {
    var value = vec4f(0.0);
    if (i < args.quads) {
      value = activate(max(x[first + i] - cutoff, vec4f(0.0))) * x[first + args.quads + i];
    }
    y[args.y_stride * workgroup.x + i] = value;
  }
}
