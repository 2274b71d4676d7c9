// Chooses the experts of a row: the best by the router's logits, in descending order, the lowest among equals. The share of each is that of a
// softmax over the experts that are not chosen before it and whose logits are near its own. A workgroup per row.
#import "lib/route-choice.wgsl"

@compute @workgroup_size(WORKGROUP)
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(num_workgroups) rows: vec3u,
  @builtin(local_invocation_index) local: u32,
) {
  let row = workgroup.x;
  var last = Best(0.0, 0u);
  var total = 0.0;
  for (var j = 0u; j < args.chosen; j++) {
    let before = last;
    last = next_best(row, j, before, local);
    var sum = 0.0;
    for (var i = local; i < args.experts; i += WORKGROUP) {
      let value = logits[row * args.stride + i];
      let is_near = last.value - value <= args.margin * max(abs(value), last.value);
      if (is_near && (j == 0u || is_behind(value, i, before))) {
        sum += exp(value - last.value);
      }
    }
    let share = 1.0 / max(sums_of(sum, 0u, local).value, 1.0);
    total += share;
    keep_choice(j, share, last.token, local);
  }
  workgroupBarrier();
  let factor = 1.0 / select(1.0, total, args.normed == 1u);
  for (var j = local; j < args.share_stride; j += WORKGROUP) {
    let one = chosen[min(j, MOST_CHOSEN - 1u)];
    shares[row * args.share_stride + j] = select(0.0, one.value * factor, j < args.chosen);
  }
  write_routes(row, rows.x, local);
}
