// Paged attention without subgroups: a workgroup per row and query head, a page of 32 tokens at a time, online softmax.
#import "lib/attention-args.wgsl"
#import "lib/attention-inputs.wgsl"
#import "lib/batch.wgsl"
#import "lib/cap.$CAP.wgsl"
#import "lib/chunk-merge.wgsl"
#import "lib/row-padding.wgsl"
#import "lib/seen-tokens.wgsl"
#import "lib/segment.$SEGMENT.wgsl"
#import "lib/sinks.$SINKS.wgsl"
#import "kv/read.$KV.wgsl"

const QUADS = 2u;      // quads of dimensions per invocation: ceil(dims of a value / 128)

var<workgroup> weights: array<f32, 32>;

@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let tile = tiles[args.first_tile + workgroup.x];
  if (workgroup.z >= tile.rows) {
    return;
  }
  let row = tile.first_row + workgroup.z;
  let head = workgroup.y;
  let kv_head = head / (args.heads / args.kv_heads);
  let at = tile.start + workgroup.z;
  let q0 = row * args.q_quads + head * args.dims / 4u;

  let seen = vec2u(first_page_of(tile, at), last_page_of(tile, at));
  let segment = segment_of(tile, seen.x, seen.y);
  if (segment.first > segment.last) {
    return;
  }
  let y0 = row * args.y_quads + head * args.value_dims / 4u;
  let before = held_state(row, head, 0u);
  let goes_on = is_resumed(segment, seen.x);

  var largest = select(MASKED, before.x, goes_on);
  var total = select(0.0, before.y, goes_on);
  var out: array<vec4f, QUADS>;
  if (goes_on) {
    for (var k = 0u; k < QUADS; k++) {
      let quad = local + 32u * k;
      if (quad < args.value_dims / 4u) {
        out[k] = y[y0 + quad];
      }
    }
  }
  for (var p = segment.first; p <= segment.last; p++) {
    if (!any_chosen(row, row, p, p)) {
      continue;
    }
    let stored = stored_page(tile, p) * args.kv_heads + kv_head;
    let token = p * 32u + local;
    var score = MASKED;
    if (are_seen(tile, row, at, vec4u(token)).x) {
      score = 0.0;
      for (var d = 0u; d < args.dims; d += 4u) {
        let four = key_quads(stored, d / 4u, args.dims, local / 4u);
        let u = local % 4u;
        score += dot(q[q0 + d / 4u], vec4f(four[0][u], four[1][u], four[2][u], four[3][u]));
      }
      score = scored(vec4f(score * key_scales(stored, local / 4u, args.dims)[local % 4u]), kv_head, at, vec4u(token)).x;
    }
    workgroupBarrier();
    weights[local] = score;
    workgroupBarrier();
    var now = largest;
    for (var i = 0u; i < 32u; i++) {
      now = max(now, weights[i]);
    }
    let kept = exp(largest - now);
    largest = now;
    total *= kept;
    for (var i = 0u; i < QUADS; i++) {
      out[i] *= kept;
    }
    for (var i = 0u; i < 32u; i += 2u) {
      let scores = vec2f(weights[i], weights[i + 1u]);
      let weight = select(vec2f(0.0), exp(scores - now), scores > vec2f(MASKED));
      total += weight.x + weight.y;
      let four = value_scales(stored, i / 4u, args.dims);
      let factors = select(four.xy, four.zw, i % 4u == 2u);
      for (var k = 0u; k < QUADS; k++) {
        let quad = local + 32u * k;
        if (quad < args.value_dims / 4u && any(weight > vec2f(0.0))) {
          let v = value_quads(stored, i / 2u, quad, value_stride(args.dims, args.value_dims));
          out[k] += select(vec4f(0.0), weight.x * factors.x * v[0], weight.x > 0.0);
          out[k] += select(vec4f(0.0), weight.y * factors.y * v[1], weight.y > 0.0);
        }
      }
    }
  }
  var sum = total_of(Met(largest, total), head);
  if (is_left(segment, seen.y)) {
    sum = 1.0;
    if (local == 0u) {
      hold_state(row, head, 0u, vec2f(largest, total));
    }
  }
  for (var k = 0u; k < QUADS; k++) {
    let quad = local + 32u * k;
    if (quad < args.value_dims / 4u) {
      y[y0 + quad] = out[k] / sum;
    }
  }
  if (head + 1u == args.heads) { // the last head also writes the padding after the row's columns
    clear_padding(row, args.value_dims / 4u, local, 32u);
  }
}
