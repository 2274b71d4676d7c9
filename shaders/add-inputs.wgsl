// x[row] += inputs[row of embeddings], for the rows whose source is an input embedding, or for each row.
#import "lib/batch.wgsl"

const EACH = false; // every row has the input embedding of its own number

struct Args {
  quads: u32,   // groups of four columns in a row
}

@group(0) @binding(0) var<storage, read> rows: array<Row>;
@group(0) @binding(1) var<storage, read> inputs: array<vec4f>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> x: array<vec4f>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let row = id.y;
  let source = rows[row].source;
  if (id.x >= args.quads || !(EACH || (source & (FROM_SLOT | FROM_INPUT)) == FROM_INPUT)) {
    return;
  }
  let input = select(source & ~FROM_INPUT, row, EACH);
  x[row * args.quads + id.x] += inputs[input * args.quads + id.x];
}
