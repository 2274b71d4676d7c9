// How much the tokens before each row matter to it: the sum over heads of weight · max(q · k, 0), with one key a token. A workgroup is one row
// and eight pages; an invocation takes four tokens, for which it reads each key once for EACH heads.
#import "lib/batch.wgsl"
#import "kv/read-keys.$KV.wgsl"

const EACH = 8u; // heads
const WORKGROUP = 64u;
const FILLS_REGISTERS = true;

struct Args {
  heads: u32,
  dims: u32,          // of a head and of a key, a multiple of 4
  most: u32,          // tokens that are chosen; rows that have no more need no scores
  q_quads: u32,       // quads of columns from one row of q to the next
  weight_stride: u32, // columns from one row of weights to the next
  score_quads: u32,
  first_tile: u32,    // tile of the first workgroup, whose first row has the first scores
}

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> head_weights: array<f32>; // [rows, heads]
@group(0) @binding(2) var<storage, read> tiles: array<Tile>;
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> scores: array<vec4f>; // [rows of these tiles, tokens]
@group(0) @binding(7) var<storage, read> pages: array<u32>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let tile = tiles[args.first_tile + workgroup.x];
  let position = tile.start + workgroup.z;
  let page = workgroup.y * (WORKGROUP / 8u) + local / 8u;
  if (workgroup.z >= tile.rows || position < args.most || page * 32u > position) {
    return;
  }
  let row = tile.first_row + workgroup.z;
  let lane = local % 8u;
  let key = pages[tile.pages + page];
  let quads = args.dims / 4u;

  var total = vec4f(0.0);
  for (var first = 0u; first < args.heads; first += EACH) {
    var sums = array<vec4f, EACH>();
    for (var at = 0u; at < quads; at++) {
      let four = key_quads(key, at, args.dims, lane);
      for (var e = 0u; e < EACH; e++) {
        let qs = q[row * args.q_quads + min(first + e, args.heads - 1u) * quads + at];
        sums[e] = fma(vec4f(qs.w), four[3], fma(vec4f(qs.z), four[2], fma(vec4f(qs.y), four[1], fma(vec4f(qs.x), four[0], sums[e]))));
      }
    }
    for (var e = 0u; e < min(EACH, args.heads - first); e++) {
      let weight = head_weights[row * args.weight_stride + first + e];
      total = fma(vec4f(weight), max(sums[e], vec4f(0.0)), total);
    }
  }
  scores[(row - tiles[args.first_tile].first_row) * args.score_quads + page * 8u + lane] = total;
}
