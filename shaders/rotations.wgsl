// cos and sin of position · frequency for every row of a step. Frequencies are turns per token in 64-bit fixed point, so that the
// angle at token 100,000 is as exact as at token 1.
#import "lib/batch.wgsl"
#import "lib/turns.wgsl"
#import "lib/planes.$PLANES.wgsl"

struct Args {
  half: u32,        // frequencies of a head: dims / 2
  y_pairs: u32,     // pairs of columns from one row of y to the next
  scale: f32,       // factor on cos and sin
  first: u32,       // index in a set at which this table's frequencies begin
  all: u32,         // frequencies of a set, over all tables
  height: u32,      // frequencies from this index on use the row's height; where parts take turns, up to this one
  width: u32,       // likewise of the row's width
}

@group(0) @binding(0) var<storage, read> rows: array<Row>;
@group(0) @binding(1) var<storage, read> turns: array<vec2u>; // [set][frequencies of all tables]: low and high word
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
    let turn = turns[(rows[row].frequencies & SET_MASK) * args.all + args.first + i];
    let position = position_of(row, i);
    pair = args.scale * cos_sin(position * turn.y + high_product(position, turn.x));
  }
  y[row * args.y_pairs + i] = pair;
}
