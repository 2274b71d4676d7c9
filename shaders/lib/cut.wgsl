// The cut of top-k and top-p through the logits of a row (`logits`, `args` and Choice are sample.wgsl's).
#import "lib/agree.wgsl"
#import "lib/sort-key.wgsl"

struct Cut {
  key: u32,    // all larger keys are kept
  limit: u32,  // tokens with exactly this key are kept up to this token
}

// The smallest key of which at least the first token is kept: fewer than k tokens and at most p of the probability mass have larger
// keys.
fn find_cut(choice: Choice, row0: u32, largest: f32, local: u32) -> Cut {
  let rate = 1.0 / choice.temperature;
  var mass = 0.0;
  for (var i = local; i < args.vocabulary; i += WORKGROUP) {
    mass += exp((logits[row0 + i] - largest) * rate);
  }
  let allowed = choice.top_p * sums_of(mass, 0u, local).value;
  let k = select(args.vocabulary, choice.top_k, choice.top_k > 0u);

  var low = 0u;
  var high = sort_key(largest);
  var above = Best(0.0, 0u);
  while (low < high) {
    let probe = low + (high - low) / 2u;
    mass = 0.0;
    var count = 0u;
    for (var i = local; i < args.vocabulary; i += WORKGROUP) {
      let value = logits[row0 + i];
      if (sort_key(value) > probe) {
        mass += exp((value - largest) * rate);
        count++;
      }
    }
    let sums = sums_of(mass, count, local);
    if (sums.token < k && sums.value <= allowed) {
      high = probe;
      above = sums;
    } else {
      low = probe + 1u;
    }
  }

  // Of equal logits at the cut, the lowest tokens are kept, as many as both rules allow.
  var count = 0u;
  var weight = 0.0;
  for (var i = local; i < args.vocabulary; i += WORKGROUP) {
    let value = logits[row0 + i];
    if (sort_key(value) == high) {
      weight = exp((value - largest) * rate);
      count++;
    }
  }
  let equal = sums_of(0.0, count, local).token;
  let each = best_of(weight, 0u, local).value;
  let by_mass = u32(clamp((allowed - above.value) / max(each, 1e-30), 0.0, 16777216.0)) + 1u;
  let room = min(k - above.token, by_mass);
  if (equal <= room) {
    return Cut(high, NONE);
  }
  return Cut(high, token_limit(row0, high, room, local));
}

// The last token to keep if `room` tokens with this key are kept.
fn token_limit(row0: u32, key: u32, room: u32, local: u32) -> u32 {
  var low = 0u;
  var high = args.vocabulary - 1u;
  while (low < high) {
    let probe = (low + high) / 2u;
    var count = 0u;
    for (var i = local; i <= probe; i += WORKGROUP) {
      count += select(0u, 1u, sort_key(logits[row0 + i]) == key);
    }
    if (sums_of(0.0, count, local).token >= room) {
      high = probe;
    } else {
      low = probe + 1u;
    }
  }
  return low;
}
