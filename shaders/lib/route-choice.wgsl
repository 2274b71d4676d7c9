// Chooses the experts of a row one after the other, and writes them: what route.wgsl and route-near.wgsl share.
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
  scale: f32,         // of route.wgsl: factor on logits
  margin: f32,        // of route-near.wgsl: largest distance from the best logit, as a part of the larger of the two
}

@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<uniform> args: Args;
@group(0) @binding(2) var<storage, read_write> routes: array<u32>;
@group(0) @binding(3) var<storage, read_write> shares: array<f32>;
@group(0) @binding(4) var<storage, read_write> plan: array<u32>;

var<workgroup> chosen: array<Best, MOST_CHOSEN>;

// Whether an expert comes after another in the order of choice, by its logit and its number.
fn is_behind(value: f32, expert: u32, other: Best) -> bool {
  return value < other.value || (value == other.value && expert > other.token);
}

// The best expert of the row that comes after `before`; with j = 0 of all. The same for every invocation.
fn next_best(row: u32, j: u32, before: Best, local: u32) -> Best {
  var best = Best(-3.4e38, NONE);
  for (var i = local; i < args.experts; i += WORKGROUP) {
    let value = logits[row * args.stride + i];
    if (value > best.value && (j == 0u || is_behind(value, i, before))) {
      best = Best(value, i);
    }
  }
  return best_of(best.value, best.token, local);
}

// If logits are NaN, no expert is the best, and the last one is taken.
fn keep_choice(j: u32, share: f32, expert: u32, local: u32) {
  if (local == 0u) {
    chosen[j] = Best(share, min(expert, args.experts - 1u));
  }
}

fn write_routes(row: u32, rows: u32, local: u32) {
  if (row == 0u && local == 0u) {
    plan[args.count_at] = rows;
  }
  for (var j = local; j < args.chosen; j += WORKGROUP) {
    routes[args.route_first + row * args.route_stride + j] = chosen[j].token;
  }
}
