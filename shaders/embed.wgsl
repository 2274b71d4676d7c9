// y[row] = W[token of the row], from the packed layout, or a row of embeddings that were computed elsewhere. A row's token is
// given, or is the one last sampled in a slot. Dispatched once per window of W: rows whose token is in another window are not
// written.
#import "weights/$W.wgsl"
#import "lib/batch.wgsl"
#import "lib/inputs.$INPUTS.wgsl"
#import "lib/places.$PLACES.wgsl"

struct Args {
  y_quads: u32,
  blocks: u32,      // K / 32
  first_group: u32, // groups of 32 tokens before this window
  groups: u32,      // groups in this window
  scale: f32,       // factor on rows of W
  first_place: u32, // row of learned positions for position 0
  input_token: u32, // token of rows that are input embeddings, where those are not read, and of those whose token W has no row of
  tokens: u32,      // rows of W
}

@group(0) @binding(0) var<storage, read> rows: array<Row>;
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(5) var<storage, read> sampled: array<u32>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let step = id.x;
  let row = id.y;
  let source = rows[row].source;
  let at = rows[row].position;
  let kind = rows[row].frequencies >> KIND_SHIFT;
  if (is_input(source)) {
    for (var h = 0u; h < STEP / 4u; h++) {
      let quad = step * (STEP / 4u) + h;
      if (args.first_group == 0u && quad < args.y_quads) {
        y[row * args.y_quads + quad] = input_quad(source, quad) + place(at, kind, quad);
      }
    }
    return;
  }
  var token = select(source, sampled[source & ~FROM_SLOT], (source & FROM_SLOT) != 0u);
  token = select(token, args.input_token, (source & (FROM_SLOT | FROM_INPUT)) == FROM_INPUT);
  token = select(token, args.input_token, token >= args.tokens);
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
      y[row * args.y_quads + quad] = args.scale * vec4f(w[0][column], w[1][column], w[2][column], w[3][column]) + place(at, kind, quad);
    }
  }
}
