// Chooses the experts of a row: the best by softmax over all of the router's logits, in descending order, the lowest among equals;
// and the share of each, multiplied by the factor of its expert if GAIN has some. A workgroup per row.
#import "lib/agree.wgsl"
#import "lib/route-gain.$GAIN.wgsl"

const WORKGROUP = 32u;
const MOST_CHOSEN = 64u;
const NONE = 0xffffffffu;

struct Args {
  experts: u32,
  stride: u32,        // logits from one row to the next
  chosen: u32,        // experts per row
  normed: u32,        // 1: the shares of a row add up to one
  route_stride: u32,  // words of `routes` from one row to the next
  route_first: u32,   // words before those of the first row
  share_stride: u32,
  count_at: u32,      // word of the plan with the number of rows
  scale: f32,         // factor on logits
}

@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> routes: array<u32>;
@group(0) @binding(3) var<storage, read_write> shares: array<f32>;
@group(0) @binding(4) var<storage, read_write> plan: array<u32>;

var<workgroup> chosen: array<Best, MOST_CHOSEN>;

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) rows: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let row = workgroup.x;
  let row0 = row * args.stride;
  if (row == 0u && local == 0u) {
    plan[args.count_at] = rows.x;
  }
  var last = Best(3.4e38, 0u);
  var largest = 0.0;
  var norm = 0.0;
  for (var j = 0u; j < args.chosen; j++) {
    var best = Best(-3.4e38, NONE);
    for (var i = local; i < args.experts; i += WORKGROUP) {
      let value = logits[row0 + i];
      let is_behind = value < last.value || (value == last.value && i > last.token);
      if (value > best.value && (j == 0u || is_behind)) {
        best = Best(value, i);
      }
    }
    last = best_of(best.value, best.token, local);
    largest = select(largest, last.value, j == 0u);
    norm += exp(args.scale * (last.value - largest));
    if (local == 0u) {
      chosen[j] = Best(exp(args.scale * (last.value - largest)), min(last.token, args.experts - 1u)); // if logits are NaN, no expert is the best
    }
  }
  var sum = 0.0;
  for (var i = local; i < args.experts; i += WORKGROUP) {
    sum += exp(args.scale * (logits[row0 + i] - largest));
  }
  sum = sums_of(sum, 0u, local).value;
  if (args.normed == 1u) {
    sum = norm;
  }
  for (var j = local; j < args.share_stride; j += WORKGROUP) {
    let one = chosen[min(j, MOST_CHOSEN - 1u)];
    shares[row * args.share_stride + j] = select(0.0, one.value / sum * route_gain(one.token), j < args.chosen);
  }
  for (var j = local; j < args.chosen; j += WORKGROUP) {
    routes[args.route_first + row * args.route_stride + j] = chosen[j].token;
  }
}
