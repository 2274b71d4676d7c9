// The product of two factors of a LoRA, written to a matrix of f32, added to it or multiplied with it: one invocation makes four rows
// of four columns. In Tucker's form each tap of a convolution has factors `b` of its own.

const FACTOR_OP = 0; // 0: y = scale · b · a; 1: y += scale · b · a; 2: y *= scale · b · a

struct Args {
  rows: u32,      // of y
  columns: u32,   // of y, those of all taps
  rank: u32,
  taps: u32,      // of `b`; 1 where the columns of `a` are those of all taps
  first_row: u32, // row of `b` that belongs to y's first
  b_row: u32,     // values of `b` from one row to the next
  b_rank: u32,    // values of `b` from one k to the next
  scale: f32,
}

@group(0) @binding(0) var<storage, read> b: array<f32>;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@group(0) @binding(3) var<uniform> args: Args;

@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let row = 4u * id.y;
  let column = 4u * id.x;
  if (row >= args.rows || column >= args.columns) {
    return;
  }
  let last_row = args.rows - 1u;
  let last_column = args.columns - 1u;
  let a_columns = args.columns / args.taps;
  var sums: array<vec4f, 4>;
  for (var r = 0u; r < args.rank; r++) {
    for (var j = 0u; j < 4u; j++) {
      let at = min(column + j, last_column);
      let right = a[r * a_columns + at / args.taps];
      for (var i = 0u; i < 4u; i++) {
        let from_row = args.first_row + min(row + i, last_row);
        sums[i][j] += b[from_row * args.b_row + r * args.b_rank + at % args.taps] * right;
      }
    }
  }
  for (var i = 0u; i < min(4u, args.rows - row); i++) {
    for (var j = 0u; j < min(4u, args.columns - column); j++) {
      let at = (row + i) * args.columns + column + j;
      let value = args.scale * sums[i][j];
      if (FACTOR_OP == 0) {
        y[at] = value;
      } else if (FACTOR_OP == 1) {
        y[at] += value;
      } else {
        y[at] *= value;
      }
    }
  }
}
