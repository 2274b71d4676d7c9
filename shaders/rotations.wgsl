// cos and sin of position · frequency for every row of a step. Frequencies come as turns a token in 64-bit fixed point, so
// the angle is as exact at token 100,000 as at token 1.
#import "lib/batch.wgsl"
#import "lib/turns.wgsl"
#import "lib/planes.$PLANES.wgsl"

struct Args {
  half: u32,        // frequencies of a head: dims / 2
  y_pairs: u32,     // pairs of columns from one row of y to the next
  scale: f32,       // on cos and sin
  first: u32,       // frequency of a set that this table begins with
  all: u32,         // frequencies of a set, of all tables together
  height: u32,      // from this frequency on angles go by the row's height,
  width: u32,       // and from this one on by its width
}

@group(0) @binding(0) var<storage, read> rows: array<Row>;
@group(0) @binding(1) var<storage, read> turns: array<vec2u>; // low and high word, [set][frequencies of all tables]
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<vec2f>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let i = id.x;
  let row = id.y;
  if (i >= args.y_pairs) {
    return;
  }
  var pair = vec2f(0.0);
  if (i < args.half) {
    let turn = turns[rows[row].frequencies * args.all + args.first + i];
    let position = position_of(row, i);
    pair = args.scale * cos_sin(position * turn.y + high_product(position, turn.x));
  }
  y[row * args.y_pairs + i] = pair;
}
