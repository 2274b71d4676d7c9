// Applies penalties for the tokens generated so far, then biases, in place, to the tokens that the workgroup owns (the kernel declares
// `logits`, `args` and `sampled`, and imports an `owns`). Excluded tokens have a bias of MASKED.
#import "lib/choice.wgsl"

struct Count {
  token: u32,
  count: u32,
}

struct Bias {
  token: u32,
  value: f32,
}

var<workgroup> pending_count: u32;

fn penalise(choice: Choice, at: u32, count: u32) {
  let value = logits[at];
  let lowered = value - choice.frequency * f32(count) - choice.presence;
  let turned = select(lowered / choice.repetition, lowered * choice.repetition, lowered < 0.0);
  logits[at] = select(turned, value, value <= NEVER);
}

fn adjust(choice: Choice, row0: u32, local: u32) {
  let pending = sampled[choice.slot];
  let counts_pending = choice.pending == 1u && pending < args.vocabulary;
  if (local == 0u) {
    pending_count = 0u;
  }
  workgroupBarrier();
  for (var i = local; i < choice.count_count; i += WORKGROUP) {
    let entry = counts[choice.count_first + i];
    if (counts_pending && entry.token == pending) {
      pending_count = entry.count;
    } else if (owns(entry.token)) {
      penalise(choice, row0 + entry.token, entry.count);
    }
  }
  workgroupBarrier();
  if (local == 0u && counts_pending && owns(pending)) {
    penalise(choice, row0 + pending, pending_count + 1u);
  }
  storageBarrier();
  for (var i = local; i < choice.bias_count; i += WORKGROUP) {
    let bias = biases[choice.bias_first + i];
    if (owns(bias.token)) {
      let at = row0 + bias.token;
      logits[at] = max(logits[at] + bias.value, MASKED);
    }
  }
  storageBarrier();
}
