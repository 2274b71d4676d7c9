// Applies rotary positions from a table, if TURN has one, in place, after an RMSNorm of each head if GAIN has one; an invocation per row
// and head.
#import "lib/gain.$GAIN.wgsl"
#import "lib/turn.$TURN.wgsl"

// true: a pair is two adjacent dimensions; false: the same dimension of a head's two halves
const INTERLEAVED = true;

struct Args {
  heads: u32,
  dims: u32,          // dimensions of a head; even
  tokens: u32,        // tokens of an item
  first_row: u32,     // rows before this strip
  x_stride: u32,      // columns from one row of x to the next
  x_first: u32,       // first column of the heads
  table_stride: u32,  // columns from one row of the table to the next
  table_head: u32,    // pairs from one head of the table to the next
  table_heads: u32,   // heads of the table, which those of x take in turns
  eps: f32,
}

@group(0) @binding(0) var<storage, read_write> x: array<f32>;
@group(0) @binding(2) var<uniform> args: Args;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let head = id.x;
  let row = id.y;
  if (head >= args.heads) {
    return;
  }
  let x0 = row * args.x_stride + args.x_first + head * args.dims;
  let token = (args.first_row + row) % args.tokens;
  var rate = 1.0;
  if (NORMED) {
    var squares = 0.0;
    for (var d = 0u; d < args.dims; d++) {
      squares += x[x0 + d] * x[x0 + d];
    }
    rate = inverseSqrt(squares / f32(args.dims) + args.eps);
  }
  let step = select(1u, 2u, INTERLEAVED);
  let reach = select(args.dims / 2u, 1u, INTERLEAVED);
  for (var i = 0u; i < args.dims / 2u; i++) {
    let d = i * step;
    let a = x[x0 + d] * rate * gain(d);
    let b = x[x0 + d + reach] * rate * gain(d + reach);
    let angle = turn(token, args.table_stride, head % args.table_heads * args.table_head + i);
    x[x0 + d] = a * angle.x - b * angle.y;
    x[x0 + d + reach] = b * angle.x + a * angle.y;
  }
}
