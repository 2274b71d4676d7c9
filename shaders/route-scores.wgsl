// Chooses the experts of a row by scores: a softmax over the router's logits, or the sigmoid of each. A bias of each expert is added for
// the choice and not for the share. With groups, only experts of the best groups are chosen. The best come first, the lowest among
// equals. A workgroup per row.
#import "lib/agree.wgsl"
#import "lib/router-scores.$SCORES.wgsl"
#import "lib/choice-bias.$BIAS.wgsl"

const WORKGROUP = 32u;
const MOST_EXPERTS = 512u;
const MOST_GROUPS = 64u;
const MOST_CHOSEN = 64u;
const NONE = 0xffffffffu;
const LEAST = -3.4e38;

struct Args {
  experts: u32,
  stride: u32,        // logits from one row to the next
  chosen: u32,        // experts per row
  normed: u32,        // 1: the shares of a row add up to `scale`
  route_stride: u32,  // words of `routes` from one row to the next
  route_first: u32,   // words before those of the first row
  share_stride: u32,
  count_at: u32,      // word of the plan with the number of rows
  groups: u32,
  groups_chosen: u32,
  group_members: u32, // a group is as good as the sum of so many of its best experts: 1 or 2
  scale: f32,         // factor on the shares
}

@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> routes: array<u32>;
@group(0) @binding(3) var<storage, read_write> shares: array<f32>;
@group(0) @binding(4) var<storage, read_write> plan: array<u32>;

var<workgroup> scores: array<f32, MOST_EXPERTS>;
var<workgroup> choices: array<f32, MOST_EXPERTS>;
var<workgroup> group_values: array<f32, MOST_GROUPS>;
var<workgroup> chosen: array<Best, MOST_CHOSEN>;

// The two best experts of a group, added, or the best.
fn value_of(group: u32) -> f32 {
  let size = args.experts / args.groups;
  var best = LEAST;
  var second = LEAST;
  for (var i = group * size; i < (group + 1u) * size; i++) {
    let value = choices[i];
    second = max(second, min(best, value));
    best = max(best, value);
  }
  return select(best, best + second, args.group_members == 2u && size > 1u);
}

// Whether fewer than groups_chosen groups are better, or as good and lower.
fn is_open(group: u32) -> bool {
  let own = group_values[group];
  var before = 0u;
  for (var g = 0u; g < args.groups; g++) {
    before += u32(group_values[g] > own || (group_values[g] == own && g < group));
  }
  return before < args.groups_chosen;
}

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) rows: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let row = workgroup.x;
  if (row == 0u && local == 0u) {
    plan[args.count_at] = rows.x;
  }
  score_experts(row * args.stride, local);
  for (var i = local; i < args.experts; i += WORKGROUP) {
    choices[i] = scores[i] + choice_bias(i);
  }
  workgroupBarrier();
  if (args.groups > 1u) {
    for (var g = local; g < args.groups; g += WORKGROUP) {
      group_values[g] = value_of(g);
    }
    workgroupBarrier();
    for (var i = local; i < args.experts; i += WORKGROUP) {
      if (!is_open(i / (args.experts / args.groups))) {
        choices[i] = LEAST;
      }
    }
  }
  // Each lane reads and clears its own experts' choices only.
  var sum = 0.0;
  for (var j = 0u; j < args.chosen; j++) {
    var best = Best(LEAST, NONE);
    for (var i = local; i < args.experts; i += WORKGROUP) {
      if (choices[i] > best.value) {
        best = Best(choices[i], i);
      }
    }
    let expert = min(best_of(best.value, best.token, local).token, args.experts - 1u); // if logits are NaN, no expert is the best
    if (expert % WORKGROUP == local) {
      choices[expert] = LEAST;
    }
    sum += scores[expert];
    if (local == 0u) {
      chosen[j] = Best(scores[expert], expert);
    }
  }
  workgroupBarrier();
  let factor = args.scale / select(1.0, max(sum, 1e-20), args.normed == 1u);
  for (var j = local; j < args.share_stride; j += WORKGROUP) {
    shares[row * args.share_stride + j] = select(0.0, chosen[min(j, MOST_CHOSEN - 1u)].value * factor, j < args.chosen);
  }
  for (var j = local; j < args.chosen; j += WORKGROUP) {
    routes[args.route_first + row * args.route_stride + j] = chosen[j].token;
  }
}
