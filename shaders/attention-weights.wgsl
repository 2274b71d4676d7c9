// Weights of one head over the keys that all rows see: y[row][first + key] = softmax over the keys of q · key. A workgroup per row.
#import "lib/batch.wgsl"
#import "kv/read-keys.$KV.wgsl"

const WORKGROUP = 64u;

struct Args {
  head: u32,
  kv_head: u32,
  kv_heads: u32,
  dims: u32,    // dimensions of a head in q and in pages
  q_quads: u32, // quads of columns from one row of q to the next
  seen: u32,    // keys that each row sees
  first: u32,   // column of the first key's weight
  end: u32,     // column behind the last one that is written; those behind the weights become 0
  stride: u32,  // columns from one row of y to the next
}

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> pages: array<u32>;
@group(0) @binding(2) var<storage, read> tiles: array<Tile>;
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;

var<workgroup> shares: array<f32, WORKGROUP>;

fn score(row: u32, tile: u32, key: u32) -> f32 {
  let stored = pages[tile + key / 32u] * args.kv_heads + args.kv_head;
  let lane = key % 32u;
  let q0 = row * args.q_quads + args.head * args.dims / 4u;
  var sum = 0.0;
  for (var d = 0u; d < args.dims / 4u; d++) {
    let four = key_quads(stored, d, args.dims, lane / 4u);
    let u = lane % 4u;
    sum += dot(q[q0 + d], vec4f(four[0][u], four[1][u], four[2][u], four[3][u]));
  }
  return sum;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let tile = tiles[workgroup.x];
  if (workgroup.y >= tile.rows) {
    return;
  }
  let row = tile.first_row + workgroup.y;
  let y0 = row * args.stride + args.first;
  // Each invocation reads only the scores that it has written itself.
  var largest = -3.4e38;
  for (var key = local; key < args.seen; key += WORKGROUP) {
    let found = score(row, tile.pages, key);
    y[y0 + key] = found;
    largest = max(largest, found);
  }
  shares[local] = largest;
  workgroupBarrier();
  for (var i = 0u; i < WORKGROUP; i++) {
    largest = max(largest, shares[i]);
  }
  workgroupBarrier();
  var total = 0.0;
  for (var key = local; key < args.seen; key += WORKGROUP) {
    let weight = exp(y[y0 + key] - largest);
    y[y0 + key] = weight;
    total += weight;
  }
  shares[local] = total;
  workgroupBarrier();
  total = 0.0;
  for (var i = 0u; i < WORKGROUP; i++) {
    total += shares[i];
  }
  for (var key = local; key < args.seen; key += WORKGROUP) {
    y[y0 + key] /= total;
  }
  for (var column = args.first + args.seen + local; column < args.end; column += WORKGROUP) {
    y[row * args.stride + column] = 0.0;
  }
}
