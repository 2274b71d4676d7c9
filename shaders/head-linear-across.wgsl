// y[h] = scale · x[h] · W[h]: a matrix for each head, whose columns are summed over. A workgroup has the 32 k's of one block and one head: an
// invocation sums four k's, over all columns or over those of every SPREAD-th lane, whose sums are added in order.
#import "weights/$W.wgsl"
#import "lib/head-linear-args.wgsl"

const ROWS = 4u;   // of a workgroup
const SPREAD = 8u; // lanes that share a sum: 8, or 1 where no lane waits for another

var<workgroup> sums: array<vec4f, 8u * SPREAD * ROWS>;

@compute @workgroup_size(8u * SPREAD)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let head = args.first_head + workgroup.x / args.blocks;
  let b = workgroup.x % args.blocks;
  let at = local / SPREAD; // quad of the block
  let share = local % SPREAD;
  let row0 = workgroup.y * ROWS;

  var c: array<vec4f, ROWS>;
  for (var quad = share; quad < args.quads; quad += SPREAD) {
    let place = place_of(head, quad);
    if (place.inside) {
      let block = place.group * args.blocks + b;
      let w = unpack(load_pack(block, at / (STEP / 4u), place.lane), load_block(block, place.lane), at);
      for (var r = 0u; r < ROWS; r++) {
        let xs = x_quad(row0 + r, head, quad);
        c[r] += vec4f(dot(w[0], xs), dot(w[1], xs), dot(w[2], xs), dot(w[3], xs));
      }
    }
  }
  if (SPREAD == 1u) {
    for (var r = 0u; r < ROWS; r++) {
      store(row0 + r, head, b * 8u + at, c[r]);
    }
  } else {
    for (var r = 0u; r < ROWS; r++) {
      sums[r * 8u * SPREAD + local] = c[r];
    }
    workgroupBarrier();
    for (var r = share; r < ROWS; r += SPREAD) {
      var sum = vec4f(0.0);
      for (var i = 0u; i < SPREAD; i++) {
        sum += sums[r * 8u * SPREAD + at * SPREAD + i];
      }
      store(row0 + r, head, b * 8u + at, sum);
    }
  }
}

// Columns that an earlier window holds have been added before.
fn store(row: u32, head: u32, k: u32, value: vec4f) {
  if (row >= args.rows || k >= args.k_quads) {
    return;
  }
  let to = row * args.y_quads + head * args.y_head_quads + k;
  let before = select(vec4f(0.0), y[to], begins_before(head));
  y[to] = fma(value, vec4f(args.scale), before);
}
