// Chooses the experts of a row: the best by softmax over all of the router's logits, in descending order, the lowest among equals;
// and the share of each, multiplied by the factor of its expert if GAIN has some. A workgroup per row.
#import "lib/route-choice.wgsl"
#import "lib/route-gain.$GAIN.wgsl"

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) rows: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let row = workgroup.x;
  var last = Best(0.0, 0u);
  var largest = 0.0;
  var norm = 0.0;
  for (var j = 0u; j < args.chosen; j++) {
    last = next_best(row, j, last, local);
    largest = select(largest, last.value, j == 0u);
    norm += exp(args.scale * (last.value - largest));
    keep_choice(j, exp(args.scale * (last.value - largest)), last.token, local);
  }
  var sum = 0.0;
  for (var i = local; i < args.experts; i += WORKGROUP) {
    sum += exp(args.scale * (logits[row * args.stride + i] - largest));
  }
  sum = sums_of(sum, 0u, local).value;
  if (args.normed == 1u) {
    sum = norm;
  }
  for (var j = local; j < args.share_stride; j += WORKGROUP) {
    let one = chosen[min(j, MOST_CHOSEN - 1u)];
    shares[row * args.share_stride + j] = select(0.0, one.value / sum * route_gain(one.token), j < args.chosen);
  }
  write_routes(row, rows.x, local);
}
