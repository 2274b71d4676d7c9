// Rows of texts with the rows around them: y[row, taps · column + tap] = x[row + tap - taps / 2, column], zero beyond the ends of a text. A lane
// per quad of a row, for the rows of a tile.
#import "lib/batch.wgsl"

const WORKGROUP = 64u;

struct Args {
  columns: u32,
  taps: u32,       // odd
  x_stride: u32,   // values from one row of x to the next
  y_quads: u32,
  first_tile: u32,
}

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> tiles: array<Tile>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let quad = workgroup.y * WORKGROUP + local;
  if (quad >= args.y_quads) {
    return;
  }
  let tile = tiles[args.first_tile + workgroup.x];
  let text = tile.first_row - tile.start;
  for (var row = 0u; row < tile.rows; row++) {
    var values = vec4f();
    for (var i = 0u; i < 4u; i++) {
      let column = (4u * quad + i) / args.taps;
      // The number of the source token in its text. Below zero it wraps around to one above tile.last.
      let token = tile.start + row + (4u * quad + i) % args.taps - args.taps / 2u;
      if (column < args.columns && token <= tile.last) {
        values[i] = x[(text + token) * args.x_stride + column];
      }
    }
    y[(tile.first_row + row) * args.y_quads + quad] = values;
  }
}
