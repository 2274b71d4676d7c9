// Columns of a followed by those of b, row by row; an invocation per quad of y.
const ALIGNED = true; // whether the columns of a end at a whole quad

struct Args {
  a_columns: u32,
  b_columns: u32,
  a_quads: u32, // quads from one row of a to the next
  b_quads: u32,
  y_quads: u32,
  rows: u32,
}

@group(0) @binding(0) var<storage, read> a: array<vec4f>;
@group(0) @binding(1) var<storage, read> b: array<vec4f>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;

fn element(row: u32, column: u32) -> f32 {
  if (column < args.a_columns) {
    return a[row * args.a_quads + column / 4u][column % 4u];
  }
  let of_b = column - args.a_columns;
  if (of_b < args.b_columns) {
    return b[row * args.b_quads + of_b / 4u][of_b % 4u];
  }
  return 0.0;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) workgroups: vec3u) {
  let i = id.y * workgroups.x * 64u + id.x;
  let row = i / args.y_quads;
  let quad = i % args.y_quads;
  if (row >= args.rows) {
    return;
  }
  var v: vec4f;
  if (!ALIGNED) {
    for (var j = 0u; j < 4u; j++) {
      v[j] = element(row, 4u * quad + j);
    }
  } else if (4u * quad < args.a_columns) {
    v = a[row * args.a_quads + quad];
  } else if (4u * quad < args.a_columns + args.b_columns) {
    v = b[row * args.b_quads + quad - args.a_columns / 4u];
  }
  y[i] = v;
}
