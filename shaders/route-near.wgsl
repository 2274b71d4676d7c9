// Chooses the experts of a row: the best by the router's logits, in descending order, the lowest among equals. The share of each is that of a
// softmax over the experts that are not chosen before it and whose logits are near its own. A workgroup per row.
#import "lib/agree.wgsl"

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
  margin: f32,        // largest distance from the best logit, as a part of the larger of the two
}

@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> routes: array<u32>;
@group(0) @binding(3) var<storage, read_write> shares: array<f32>;
@group(0) @binding(4) var<storage, read_write> plan: array<u32>;

var<workgroup> chosen: array<Best, MOST_CHOSEN>;

// Whether an expert comes behind another, by its logit and its number.
fn is_behind(value: f32, expert: u32, other: Best) -> bool {
  return value < other.value || (value == other.value && expert > other.token);
}

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
  var total = 0.0;
  for (var j = 0u; j < args.chosen; j++) {
    let before = last;
    var best = Best(-3.4e38, NONE);
    for (var i = local; i < args.experts; i += WORKGROUP) {
      let value = logits[row0 + i];
      if (value > best.value && is_behind(value, i, before)) {
        best = Best(value, i);
      }
    }
    last = best_of(best.value, best.token, local);
    var sum = 0.0;
    for (var i = local; i < args.experts; i += WORKGROUP) {
      let value = logits[row0 + i];
      let is_near = last.value - value <= args.margin * max(abs(value), last.value);
      if (is_near && is_behind(value, i, before)) {
        sum += exp(value - last.value);
      }
    }
    let share = 1.0 / max(sums_of(sum, 0u, local).value, 1.0);
    total += share;
    if (local == 0u) {
      chosen[j] = Best(share, min(last.token, args.experts - 1u)); // if logits are NaN, no expert is the best
    }
  }
  workgroupBarrier();
  let factor = 1.0 / select(1.0, total, args.normed == 1u);
  for (var j = local; j < args.share_stride; j += WORKGROUP) {
    let one = chosen[min(j, MOST_CHOSEN - 1u)];
    shares[row * args.share_stride + j] = select(0.0, one.value * factor, j < args.chosen);
  }
  for (var j = local; j < args.chosen; j += WORKGROUP) {
    routes[args.route_first + row * args.route_stride + j] = chosen[j].token;
  }
}
