// Splits a row's fused q, k and v into heads: q and k are normed and rotated (where the model does that), q is scaled and
// written out, k and v go to their pages. One invocation a head. The first `rotated` dimensions of a head are rotated.
#import "lib/head.$HEAD.wgsl"
#import "lib/pairs.$PAIRS.wgsl"
#import "lib/put-pages.wgsl"
#import "lib/rope-kv.wgsl"
#import "lib/rotate.$TURNED.wgsl"
#import "lib/turned.$ROPE.wgsl"
#import "kv/write.$KV.wgsl"

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let head = id.x;
  let row = id.y;
  if (head >= args.heads + 2u * args.kv_heads) {
    return;
  }
  let half = args.dims / 2u;
  let is_query = head < args.heads;
  let base = row * args.qkv_pairs + stored_at(head) * half;
  let page = places[row] / 32u;
  let token = places[row] % 32u;

  let is_value = head >= args.heads + args.kv_heads;
  var norm = 1.0;
  if (HEAD_NORM && (!is_value || args.norm_values == 1u)) {
    var sum = 0.0;
    for (var i = 0u; i < half; i++) {
      let v = qkv[base + i];
      sum += dot(v, v);
    }
    norm = inverseSqrt(sum / f32(args.dims) + args.eps);
  }
  if (is_value) {
    let kv_head = page * args.kv_heads + head - args.heads - args.kv_heads;
    for (var d = 0u; d < args.dims; d += 2u) {
      write_value(kv_head, token, d, stored_dims(), qkv[base + d / 2u] * norm);
    }
    for (var d = args.dims; d < stored_dims(); d += 2u) {
      write_value(kv_head, token, d, stored_dims(), vec2f(0.0));
    }
    return;
  }
  let scale = norm * select(1.0, args.scale * growth_of(row), is_query);
  rotate_head(row, head, token, base, scale, 0u, 1u);
  for (var d = args.rotated; d < args.dims; d += 2u) {
    put_turned(row, head, token, d, value(base, d, scale, is_query));
  }
  for (var d = args.dims; d < stored_dims(); d += 2u) {
    put(row, head, token, d, behind(row, head, d));
  }
  if (head + 1u == args.heads) { // the last head also writes the padding after the row's columns
    for (var i = args.heads * stored_dims() / 2u; i < args.q_pairs; i++) {
      q[row * args.q_pairs + i] = vec2f(0.0);
    }
  }
}
