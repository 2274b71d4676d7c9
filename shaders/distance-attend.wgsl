// Attention of whole texts whose keys and queries know their distance: softmax(scale · (q · (k + pk) + k · pq)) · v, with pk and pq of the distance
// from key to query; far distances share places, in steps of their logarithm. A workgroup per QUERIES rows of a tile and head.
#import "lib/batch.wgsl"
#import "lib/row-padding.wgsl"

const WORKGROUP = 32u;
const QUERIES = 4u;
const SHARES = 4u;      // quads of results of an invocation: as many as 128 dimensions of a head need
const MASKED = -3.0e38;

struct Args {
  heads: u32,
  quads: u32,          // quads of a head
  x_quads: u32,        // quads of a row of x
  place_quads: u32,    // quads of a row of places
  y_quads: u32,
  span: u32,           // places of distances on either side
  first_place: u32,    // the place of the first row of places
  near: u32,           // distances up to this one have places of their own
  growth: f32,         // places for a distance e times as far
  scale: f32,
  first_tile: u32,
}

@group(0) @binding(0) var<storage, read> x: array<vec4f>;      // [rows, 3 · heads · dims]: queries, keys, values
@group(0) @binding(1) var<storage, read> tiles: array<Tile>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read> places: array<vec4f>; // [places, at least 2 · heads · dims]: queries, keys
@group(0) @binding(4) var<storage, read_write> y: array<vec4f>;

var<workgroup> scores: array<f32, 128>; // [queries, keys]

fn place_of(query: u32, key: u32) -> u32 {
  let distance = max(query, key) - min(query, key);
  var steps = distance;
  if (distance > args.near) {
    // The last place before a whole step belongs to the step, however its logarithm was rounded.
    steps = args.near + u32(ceil(log(f32(distance) / f32(args.near)) * args.growth - 1e-4));
  }
  let place = select(args.span - min(steps, args.span), min(args.span + steps, 2u * args.span - 1u), query >= key);
  return place - args.first_place;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let tile = tiles[args.first_tile + workgroup.x];
  let first = workgroup.z * QUERIES;
  if (first >= tile.rows) {
    return;
  }
  let text = tile.first_row - tile.start;
  let tokens = tile.last + 1u;
  let head = workgroup.y * args.quads;
  let width = args.heads * args.quads;
  var largest: array<f32, SHARES>;
  var total: array<f32, SHARES>;
  var out: array<vec4f, SHARES>;
  for (var n = 0u; n < SHARES; n++) {
    largest[n] = MASKED;
  }
  for (var key0 = 0u; key0 < tokens; key0 += WORKGROUP) {
    let key = min(key0 + local, tokens - 1u);
    let k0 = (text + key) * args.x_quads + width + head;
    var q0 = array<u32, QUERIES>();
    var p0 = array<u32, QUERIES>();
    var sum = array<f32, QUERIES>();
    for (var i = 0u; i < QUERIES; i++) {
      let row = min(first + i, tile.rows - 1u);
      q0[i] = (tile.first_row + row) * args.x_quads + head;
      p0[i] = place_of(tile.start + row, key) * args.place_quads + head;
    }
    for (var quad = 0u; quad < args.quads; quad++) {
      let k = x[k0 + quad];
      for (var i = 0u; i < QUERIES; i++) {
        sum[i] += dot(x[q0[i] + quad], k + places[p0[i] + width + quad]) + dot(k, places[p0[i] + quad]);
      }
    }
    workgroupBarrier();
    for (var i = 0u; i < QUERIES; i++) {
      scores[i * WORKGROUP + local] = select(MASKED, sum[i] * args.scale, key0 + local < tokens);
    }
    workgroupBarrier();
    let seen = min(WORKGROUP, tokens - key0);
    for (var n = 0u; n < SHARES; n++) {
      let share = n * WORKGROUP + local;
      let query = share / args.quads;
      if (query < QUERIES) {
        var now = largest[n];
        for (var j = 0u; j < seen; j++) {
          now = max(now, scores[query * WORKGROUP + j]);
        }
        let kept = exp(largest[n] - now);
        largest[n] = now;
        total[n] *= kept;
        out[n] *= kept;
        let v0 = (text + key0) * args.x_quads + 2u * width + head + share % args.quads;
        for (var j = 0u; j < seen; j++) {
          let weight = exp(scores[query * WORKGROUP + j] - now);
          total[n] += weight;
          out[n] += weight * x[v0 + j * args.x_quads];
        }
      }
    }
  }
  for (var n = 0u; n < SHARES; n++) {
    let share = n * WORKGROUP + local;
    let row = first + share / args.quads;
    if (share / args.quads < QUERIES && row < tile.rows) {
      y[(tile.first_row + row) * args.y_quads + head + share % args.quads] = out[n] / total[n];
    }
  }
  // The last head also writes the padding behind the columns.
  if (workgroup.y + 1u == args.heads) {
    for (var row = first; row < min(first + QUERIES, tile.rows); row++) {
      clear_padding(tile.first_row + row, args.quads, local, WORKGROUP);
    }
  }
}
