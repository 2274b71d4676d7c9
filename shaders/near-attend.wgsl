// Attention of each row to the rows near it, with keys that know their distance: softmax(cap · tanh(q · (gain · k + place) / cap)) · v. A
// workgroup per row and head.
const WORKGROUP = 32u;
const MOST_NEAR = 64u;
const MOST_DIMS = 256u;

struct Args {
  heads: u32,
  dims: u32,          // dimensions of a head
  rows: u32,          // rows of an item
  before: u32,        // rows before its own that a row sees
  near: u32,          // rows that a row sees where it is in the middle
  q_stride: u32,      // columns of a row of q, of k and of v
  k_stride: u32,
  v_stride: u32,
  place_stride: u32,
  y_stride: u32,
  cap: f32,
  q_gain: f32,        // factor on queries, and on keys
  k_gain: f32,
}

@group(0) @binding(0) var<storage, read> q: array<f32>;
@group(0) @binding(1) var<storage, read> k: array<f32>;
@group(0) @binding(2) var<uniform> args: Args;
@group(0) @binding(3) var<storage, read> v: array<f32>;
@group(0) @binding(4) var<storage, read> places: array<f32>; // [near, heads · dims], the first for the farthest row before
@group(0) @binding(5) var<storage, read> spread: array<f32>; // [dims]: queries are multiplied by its softplus
@group(0) @binding(6) var<storage, read_write> y: array<f32>;

var<workgroup> query: array<f32, MOST_DIMS>;
var<workgroup> scores: array<f32, MOST_NEAR>;

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let row = workgroup.y;
  let column = workgroup.x * args.dims;
  let item0 = row / args.rows * args.rows;
  let at = row - item0;
  // Columns that fill a row up stay zeros.
  for (var i = args.heads * args.dims + local; i < args.y_stride && workgroup.x == 0u; i += WORKGROUP) {
    y[row * args.y_stride + i] = 0.0;
  }
  for (var d = local; d < args.dims; d += WORKGROUP) {
    query[d] = q[row * args.q_stride + column + d] * args.q_gain * log(1.0 + exp(spread[d]));
  }
  workgroupBarrier();
  for (var i = local; i < args.near; i += WORKGROUP) {
    scores[i] = -3.4e38;
    if (at + i >= args.before && at + i - args.before < args.rows) {
      let key0 = (item0 + at + i - args.before) * args.k_stride + column;
      let place0 = i * args.place_stride + column;
      var sum = 0.0;
      for (var d = 0u; d < args.dims; d++) {
        sum += query[d] * (args.k_gain * k[key0 + d] + places[place0 + d]);
      }
      scores[i] = args.cap * tanh(sum / args.cap);
    }
  }
  workgroupBarrier();
  // Every lane adds the few weights in order.
  var largest = -3.4e38;
  for (var i = 0u; i < args.near; i++) {
    largest = max(largest, scores[i]);
  }
  var total = 0.0;
  for (var i = 0u; i < args.near; i++) {
    total += exp(max(scores[i] - largest, -80.0)) * f32(scores[i] > -3.0e38);
  }
  for (var d = local; d < args.dims; d += WORKGROUP) {
    var sum = 0.0;
    for (var i = 0u; i < args.near; i++) {
      if (scores[i] > -3.0e38) {
        let value = v[(item0 + at + i - args.before) * args.v_stride + column + d];
        sum += exp(max(scores[i] - largest, -80.0)) * value;
      }
    }
    y[row * args.y_stride + column + d] = sum / total;
  }
}
