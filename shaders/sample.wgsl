// Draws one token a row of logits, a workgroup a row: bias, then greedy, or temperature, top-k and top-p together, min-p, and
// Gumbel-max over what is left. The random number is a hash of (seed, position, token): no state, the same in any batch.
// Among equal logits the lowest token wins, and is the first to be kept.

const WORKGROUP = 64u;
const NONE = 0xffffffffu;

struct Choice {
  temperature: f32,  // 0: greedy
  top_p: f32,
  min_p: f32,
  top_k: u32,        // 0: off
  seed_low: u32,
  seed_high: u32,
  position: u32,
  slot: u32,
  bias_first: u32,
  bias_count: u32,
  pad0: u32,
  pad1: u32,
}

struct Bias {
  token: u32,
  value: f32,
}

struct Args {
  vocabulary: u32,
  stride: u32,   // logits from one row to the next
}

@group(0) @binding(0) var<storage, read_write> logits: array<f32>;
@group(0) @binding(1) var<storage, read> choices: array<Choice>;
@group(0) @binding(2) var<storage, read> biases: array<Bias>;
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> sampled: array<u32>; // by slot
@group(0) @binding(5) var<storage, read_write> ids: array<u32>;     // by row

var<workgroup> values: array<f32, WORKGROUP>;
var<workgroup> tokens: array<u32, WORKGROUP>;
var<workgroup> agreed: Best;

struct Best {
  value: f32,
  token: u32,
}

// The largest value of the workgroup, lowest token first; the same for every invocation.
fn best_of(value: f32, token: u32, local: u32) -> Best {
  values[local] = value;
  tokens[local] = token;
  workgroupBarrier();
  if (local == 0u) {
    var best = Best(value, token);
    for (var i = 1u; i < WORKGROUP; i++) {
      if (values[i] > best.value || (values[i] == best.value && tokens[i] < best.token)) {
        best = Best(values[i], tokens[i]);
      }
    }
    agreed = best;
  }
  return workgroupUniformLoad(&agreed);
}

// Sums over the workgroup, in order; the same for every invocation.
fn sums_of(value: f32, count: u32, local: u32) -> Best {
  values[local] = value;
  tokens[local] = count;
  workgroupBarrier();
  if (local == 0u) {
    var sum = Best(0.0, 0u);
    for (var i = 0u; i < WORKGROUP; i++) {
      sum.value += values[i];
      sum.token += tokens[i];
    }
    agreed = sum;
  }
  return workgroupUniformLoad(&agreed);
}

// An order-preserving map of f32 to u32.
fn sort_key(value: f32) -> u32 {
  let bits = bitcast<u32>(value + 0.0);
  return select(bits | 0x80000000u, ~bits, (bits & 0x80000000u) != 0u);
}

fn mix(value: u32) -> u32 {
  var h = value;
  h = (h ^ (h >> 16u)) * 0x85ebca6bu;
  h = (h ^ (h >> 13u)) * 0xc2b2ae35u;
  return h ^ (h >> 16u);
}

// -log(-log(u)) for a uniform u; the tail is exact down to 2⁻³².
fn gumbel(hash: u32) -> f32 {
  let v = min((f32(hash) + 0.5) * 2.3283064365386963e-10, 0.99999994);
  let exponential = select(-log(1.0 - v), v * (1.0 + v * (0.5 + v * 0.33333334)), v < 0.01);
  return -log(exponential);
}

struct Cut {
  key: u32,    // larger keys are kept
  limit: u32,  // and tokens with this key up to this token
}

// The smallest key of which at least the first token is kept: fewer than k tokens and at most p of the mass lie above it.
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

  // Equal logits at the cut: as many of them as both rules leave room for, lowest tokens first.
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

// The token up to which `room` tokens have this key.
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

fn draw(choice: Choice, row0: u32, largest: f32, local: u32) -> u32 {
  var cut = Cut(0u, NONE);
  if (choice.top_k > 0u || choice.top_p < 1.0) {
    cut = find_cut(choice, row0, largest, local);
  }
  let rate = 1.0 / choice.temperature;
  let floor = select(-3.4e38, log(choice.min_p), choice.min_p > 0.0);
  let stream = mix(choice.seed_low ^ mix(choice.seed_high ^ mix(choice.position + 0x9e3779b9u)));
  var best = Best(-3.4e38, NONE);
  for (var i = local; i < args.vocabulary; i += WORKGROUP) {
    let value = logits[row0 + i];
    let key = sort_key(value);
    let relative = (value - largest) * rate;
    if ((key > cut.key || (key == cut.key && i <= cut.limit)) && relative >= floor) {
      let score = relative + gumbel(mix(mix(i * 0x9e3779b1u + stream) ^ choice.seed_low));
      if (score > best.value) {
        best = Best(score, i);
      }
    }
  }
  return best_of(best.value, best.token, local).token;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let row0 = workgroup.x * args.stride;
  let choice = choices[workgroup.x];
  for (var i = local; i < choice.bias_count; i += WORKGROUP) {
    let bias = biases[choice.bias_first + i];
    logits[row0 + bias.token] += bias.value;
  }
  storageBarrier();

  var best = Best(-3.4e38, NONE);
  for (var i = local; i < args.vocabulary; i += WORKGROUP) {
    let value = logits[row0 + i];
    if (value > best.value) {
      best = Best(value, i);
    }
  }
  best = best_of(best.value, best.token, local);
  var token = best.token;
  if (choice.temperature > 0.0 && token != NONE) {
    token = draw(choice, row0, best.value, local);
  }
  if (local == 0u) {
    sampled[choice.slot] = token;
    ids[workgroup.x] = token;
  }
}
