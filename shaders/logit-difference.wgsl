// y[row] = x[row, plus] - x[row, minus], or x[row, plus] alone; an invocation per quad of y, whose other columns are zeros.
const WORKGROUP = 32u;

struct Args {
  x_stride: u32,
  y_quads: u32, // quads of a row of y
  quads: u32,   // of all rows
  plus: u32,
  minus: u32,
  less: f32,    // 1: the second column is subtracted; 0: it is not
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= args.quads) {
    return;
  }
  let row = id.x / args.y_quads;
  var value = vec4f(0.0);
  if (id.x % args.y_quads == 0u) {
    value.x = x[row * args.x_stride + args.plus];
    if (args.less > 0.0) {
      value.x -= x[row * args.x_stride + args.minus];
    }
  }
  y[id.x] = value;
}
