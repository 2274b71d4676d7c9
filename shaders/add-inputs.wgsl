// x[row] += inputs[row of embeddings], for the rows whose source is an input embedding.
#import "lib/batch.wgsl"

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
  if (id.x >= args.quads || (source & (FROM_SLOT | FROM_INPUT)) != FROM_INPUT) {
    return;
  }
  x[row * args.quads + id.x] += inputs[(source & ~FROM_INPUT) * args.quads + id.x];
}
