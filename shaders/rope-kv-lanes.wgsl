// The work of rope-kv.wgsl on GPUs: LANES lanes share a head, so that neighbours read and write neighbouring dimensions. Squares of a head
// are added in an order that LANES alone gives.
#import "lib/head.$HEAD.wgsl"
#import "lib/pairs.$PAIRS.wgsl"
#import "lib/put-pages.wgsl"
#import "lib/rope-kv.wgsl"
#import "lib/rotate.$TURNED.wgsl"
#import "lib/turned.$ROPE.wgsl"
#import "kv/write.$KV.wgsl"

const LANES = 32u;
const HEADS = 128u / LANES; // of a workgroup

var<workgroup> squares: array<f32, 128>;

@compute @workgroup_size(128)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let lane = local % LANES;
  let all = args.heads + 2u * args.kv_heads;
  let own = workgroup.x * HEADS + local / LANES;
  let head = min(own, all - 1u);
  let row = workgroup.y;
  let half = args.dims / 2u;
  let is_query = head < args.heads;
  let is_value = head >= args.heads + args.kv_heads;
  let base = row * args.qkv_pairs + stored_at(head) * half;

  var norm = 1.0;
  if (HEAD_NORM) {
    var sum = 0.0;
    for (var i = lane; i < half; i += LANES) {
      let v = qkv[base + i];
      sum += dot(v, v);
    }
    squares[local] = sum;
    workgroupBarrier();
    sum = 0.0;
    for (var i = 0u; i < LANES; i++) {
      sum += squares[local - lane + i];
    }
    norm = select(inverseSqrt(sum / f32(args.dims) + args.eps), 1.0, is_value && args.norm_values == 0u);
  }
  if (own >= all) {
    return;
  }
  let page = places[row] / 32u;
  let token = places[row] % 32u;
  if (is_value) {
    let kv_head = page * args.kv_heads + head - args.heads - args.kv_heads;
    for (var d = 2u * lane; d < args.dims; d += 2u * LANES) {
      write_value(kv_head, token, d, stored_dims(), qkv[base + d / 2u] * norm);
    }
    for (var d = args.dims + 2u * lane; d < stored_dims(); d += 2u * LANES) {
      write_value(kv_head, token, d, stored_dims(), vec2f(0.0));
    }
    return;
  }
  let scale = norm * select(1.0, args.scale * growth_of(row), is_query);
  rotate_head(row, head, token, base, scale, lane, LANES);
  for (var d = args.rotated + 2u * lane; d < args.dims; d += 2u * LANES) {
    put_turned(row, head, token, d, value(base, d, scale, is_query));
  }
  for (var d = args.dims + 2u * lane; d < stored_dims(); d += 2u * LANES) {
    put(row, head, token, d, behind(row, head, d));
  }
  if (head + 1u == args.heads) { // the last head also writes the padding after the row's columns
    for (var i = args.heads * stored_dims() / 2u + lane; i < args.q_pairs; i += LANES) {
      q[row * args.q_pairs + i] = vec2f(0.0);
    }
  }
}
