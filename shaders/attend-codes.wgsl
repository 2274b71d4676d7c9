// Heads of queries or keys in 8 bits, for attention whose scores are dot products of integers. An invocation rounds a head of a row: its scale is
// a 127th of the largest magnitude. A head whose largest magnitude is below LEAST is zeros: its scale must not be subnormal.
#import "lib/centre.$CENTRE.wgsl"
requires packed_4x8_integer_dot_product;

const WORKGROUP = 64u;
const LEAST = 1e-30;
const STEP_SIZE = 0.007874015748031496; // 1 / 127

struct Args {
  heads: u32,
  head_quads: u32, // quads of a head of x
  x_quads: u32,    // quads from one row of x to the next
  x_first: u32,    // first quad of the heads of x
  y_quads: u32,
  x_row: u32,      // row of the binding of x that is rounded to row `y_row` of the binding of y
  y_row: u32,
  first_row: u32,  // rows of all items before this dispatch
  item_rows: u32,  // rows of an item
  centre_quads: u32, // quads from one row of centres to the next
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<uniform> args: Args;
// [row][head][16 codes, …, then the scale in f32]
@group(0) @binding(2) var<storage, read_write> y: array<vec4u>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let head = id.x;
  let quads = (args.head_quads + 3u) / 4u; // of codes
  let y0 = (args.y_row + id.y) * args.y_quads + head * (quads + 1u);
  if (head >= args.heads) {
    for (var at = y0; head == args.heads && at < (args.y_row + id.y + 1u) * args.y_quads; at++) {
      y[at] = vec4u(0u); // padding behind the heads
    }
    return;
  }
  let x0 = (args.x_row + id.y) * args.x_quads + args.x_first + head * args.head_quads;
  let c0 = (args.first_row + id.y) / args.item_rows * args.centre_quads + head * args.head_quads;
  var most = vec4f(0.0);
  for (var quad = 0u; quad < args.head_quads; quad++) {
    most = max(most, abs(x[x0 + quad] - centre(c0 + quad)));
  }
  let largest = max(max(most.x, most.y), max(most.z, most.w));
  let is_zero = largest < LEAST;
  let inverse = select(127.0 / max(largest, LEAST), 0.0, is_zero);
  for (var quad = 0u; quad < quads; quad++) {
    var words: vec4u;
    for (var i = 0u; i < 4u; i++) {
      let at = min(4u * quad + i, args.head_quads - 1u);
      let codes = vec4i(round((x[x0 + at] - centre(c0 + at)) * inverse));
      words[i] = select(0u, pack4xI8(codes), 4u * quad + i < args.head_quads);
    }
    y[y0 + quad] = words;
  }
  y[y0 + quads] = vec4u(bitcast<u32>(select(largest * STEP_SIZE, 0.0, is_zero)), 0u, 0u, 0u);
}
