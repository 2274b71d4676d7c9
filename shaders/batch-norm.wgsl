// Channels by their means and variances: y = (x − mean) / √(variance + eps), or back, with zeros in the columns that pad a row.
const UNDO = false;
const DEVIATIONS = false; // whether `variance` holds deviations
const LOGARITHMS = false; // whether x holds logarithms of variances: those of the result
const WORKGROUP = 64u;

struct Args {
  x_quads: u32,   // quads of columns from one row to the next
  y_quads: u32,
  columns: u32,   // columns of y
  all_quads: u32, // quads of all rows of y
  eps: f32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> mean: array<vec4f>;
@group(0) @binding(2) var<storage, read> variance: array<vec4f>;
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  for (var i = id.x; i < args.all_quads; i += groups.x * WORKGROUP) {
    let quad = i % args.y_quads;
    let given = x[i / args.y_quads * args.x_quads + quad];
    let spread = select(sqrt(variance[quad] + args.eps), variance[quad], DEVIATIONS);
    var v: vec4f;
    if (LOGARITHMS) {
      v = given - 2.0 * log(spread);
    } else if (UNDO) {
      v = given * spread + mean[quad];
    } else {
      v = (given - mean[quad]) / spread;
    }
    let column = vec4u(4u * quad) + vec4u(0u, 1u, 2u, 3u);
    y[i] = select(vec4f(0.0), v, column < vec4u(args.columns));
  }
}
