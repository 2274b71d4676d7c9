// y[row] = W[id of the row] (+ the row of its position in the text), from the packed layout. Dispatched once per window of W: rows
// whose token is in another window are not written.
#import "weights/$W.wgsl"
#import "lib/places.$PLACES.wgsl"

struct Args {
  tokens: u32,      // tokens of an item
  ids_stride: u32,  // from one item's ids to the next's
  y_quads: u32,
  blocks: u32,      // K / 32
  first_group: u32, // groups of 32 tokens before this window
  groups: u32,      // groups in this window
  first_place: u32, // row of `positions` for a text's first token
}

@group(0) @binding(0) var<storage, read> ids: array<u32>;
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let step = id.x;
  let row = id.y;
  let at = row % args.tokens;
  let token = ids[row / args.tokens * args.ids_stride + at];
  let group = token / 32u - args.first_group;
  if (step >= args.blocks * (32u / STEP) || token / 32u < args.first_group || group >= args.groups) {
    return;
  }
  let lane = token % 32u / 4u;
  let column = token % 4u;
  let block = group * args.blocks + step * STEP / 32u;
  let block_data = load_block(block, lane);
  let pack = load_pack(block, step % (32u / STEP), lane);
  for (var h = 0u; h < STEP / 4u; h++) {
    let quad = step * (STEP / 4u) + h;
    let w = unpack(pack, block_data, quad % 8u);
    if (quad < args.y_quads) {
      y[row * args.y_quads + quad] = vec4f(w[0][column], w[1][column], w[2][column], w[3][column]) + place(at, 0u, quad);
    }
  }
}
