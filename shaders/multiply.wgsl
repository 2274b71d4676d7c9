// y = a · b, of some columns of each. Columns that pad y are zero.
const WORKGROUP = 64u;

struct Args {
  columns: u32,
  quads: u32,    // quads of columns of a row of y
  a_stride: u32, // quads from one row of a to the next
  a_first: u32,  // the first of a's quads
  b_stride: u32,
  b_first: u32,
}

@group(0) @binding(0) var<storage, read> a: array<vec4f>;
@group(0) @binding(1) var<storage, read> b: array<vec4f>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x >= args.quads) {
    return;
  }
  var value = vec4f(0.0);
  let column = 4u * id.x;
  if (column < args.columns) {
    value = a[id.y * args.a_stride + args.a_first + id.x] * b[id.y * args.b_stride + args.b_first + id.x];
  }
  y[id.y * args.quads + id.x] = select(vec4f(0.0), value, vec4u(column) + vec4u(0u, 1u, 2u, 3u) < vec4u(args.columns));
}
