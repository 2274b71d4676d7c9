// Dense attention without subgroups: a workgroup a query and head, 32 keys at a time, online softmax.
#import "lib/attend-args.wgsl"
#import "lib/scores.$SCORES.wgsl"
#import "lib/carry.$CARRY.wgsl"

const QUADS = 1u;      // quads of dimensions per invocation: ceil(dims / 128)
const MASKED = -1e30;

var<workgroup> scores: array<f32, 32>;

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(32)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let query = workgroup.x;
  let head = workgroup.y;
  let item = workgroup.z;
  let head_quads = args.dims / 4u;
  let seen_keys = seen_of(count_of(item), query);
  let q0 = (args.q_row + item * args.queries + query) * args.q_quads + args.q_first + head * head_quads;
  let k0 = (args.k_row + item * args.keys) * args.k_quads + args.k_first + head / args.share * head_quads;
  let v0 = (args.v_row + item * args.keys) * args.v_quads + args.v_first + head / args.share * head_quads;
  let y0 = (args.y_row + item * args.queries + query) * args.y_quads * 4u + head * args.dims;

  var largest = MASKED;
  var total = 0.0;
  var out: array<vec4f, QUADS>;
  if (CONTINUES) {
    let state = carried(query, head);
    largest = state.x;
    total = state.y;
    for (var part = 0u; part < QUADS; part++) {
      let d = min(local + 32u * part, head_quads - 1u) * 4u;
      out[part] = vec4f(y[y0 + d], y[y0 + d + 1u], y[y0 + d + 2u], y[y0 + d + 3u]);
    }
  }
  for (var first_key = 0u; first_key < seen_keys; first_key += 32u) {
    let held = min(32u, seen_keys - first_key);
    var score = MASKED;
    if (local < held) {
      score = 0.0;
      let at = k0 + (first_key + local) * args.k_quads;
      for (var d = 0u; d < head_quads; d++) {
        score += dot(q[q0 + d] * args.scale, k[at + d]);
      }
      if (BIASED) {
        score += bias_of(item, head, query, first_key + local);
      }
    }
    workgroupBarrier();
    scores[local] = score;
    workgroupBarrier();
    var now = largest;
    for (var i = 0u; i < held; i++) {
      now = max(now, scores[i]);
    }
    let kept = exp2(largest - now);
    largest = now;
    total *= kept;
    for (var part = 0u; part < QUADS; part++) {
      out[part] *= kept;
    }
    for (var i = 0u; i < held; i++) {
      let weight = exp2(scores[i] - now);
      total += weight;
      for (var part = 0u; part < QUADS; part++) {
        let quad = min(local + 32u * part, head_quads - 1u);
        out[part] += weight * v[v0 + (first_key + i) * args.v_quads + quad];
      }
    }
  }
  if (!ENDS && local == 0u) {
    carry(query, head, largest, total);
  }
  let rate = select(1.0, 1.0 / max(total, 1e-30), ENDS);
  for (var part = 0u; part < QUADS; part++) {
    let d = (local + 32u * part) * 4u;
    if (d < args.dims) {
      for (var u = 0u; u < 4u; u++) {
        y[y0 + d + u] = out[part][u] * rate;
      }
    }
  }
  if (head + 1u == args.heads) { // the last head also writes the padding after the row's columns
    for (var d = args.dims + local; head * args.dims + d < args.y_quads * 4u; d += 32u) {
      y[y0 + d] = 0.0;
    }
  }
}
