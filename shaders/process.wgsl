// Applies a request's own function to every logit of its rows, after penalties and biases; a workgroup per row. Loops in the
// function consume fuel; a row whose function exceeds it gets no token. If the function returns NaN or infinity for any token, the
// whole row becomes NaN.
#import "lib/adjust.wgsl"
#import "lib/agree.wgsl"
#import "lib/choice.wgsl"
#import "lib/owned.row.wgsl"
#import "lib/processor.$PROCESSOR.wgsl"

const WORKGROUP = 64u;
const FUEL = 1024u; // loop iterations per token
const INFINITY = 0x7f800000u; // bits of infinity; those of NaN are larger

struct Args {
  vocabulary: u32,
  stride: u32,    // logits from one row to the next
  processor: u32, // number of the function whose rows are processed
}

@group(0) @binding(0) var<storage, read_write> logits: array<f32>;
@group(0) @binding(1) var<storage, read> choices: array<Choice>;
@group(0) @binding(2) var<storage, read> biases: array<Bias>;
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read> sampled: array<u32>; // sampled tokens by slot
@group(0) @binding(5) var<storage, read> counts: array<Count>; // counts of the generated tokens of such a row, sorted by token

var<private> svc_fuel: u32;

// The number of times that a token was generated.
fn svc_count(choice: Choice, token: u32) -> u32 {
  let pending = u32(choice.pending == 1u && sampled[choice.slot] == token);
  var low = 0u;
  var high = choice.count_count;
  while (low < high) {
    let middle = (low + high) / 2u;
    let entry = counts[choice.count_first + middle];
    if (entry.token == token) {
      return entry.count + pending;
    }
    if (entry.token < token) {
      low = middle + 1u;
    } else {
      high = middle;
    }
  }
  return pending;
}

@compute @workgroup_size(WORKGROUP)
fn main(@builtin(workgroup_id) workgroup: vec3u, @builtin(local_invocation_index) local: u32) {
  let row0 = workgroup.x * args.stride;
  let choice = choices[workgroup.x];
  if (choice.processor != args.processor) {
    return;
  }
  adjust(choice, row0, local);
  svc_fuel = FUEL;
  var broken = 0u;
  for (var i = local; i < args.vocabulary && svc_fuel > 0u; i += WORKGROUP) {
    svc_fuel = FUEL;
    let value = logits[row0 + i];
    if (value > NEVER) {
      let processed = process(i, value, choice.position, svc_count(choice, i));
      logits[row0 + i] = processed;
      broken |= u32((bitcast<u32>(processed) & INFINITY) == INFINITY);
    }
  }
  let faults = sums_of(0.0, u32(svc_fuel == 0u) | (broken << 16u), local).token;
  let fill = select(MASKED, bitcast<f32>(INFINITY | faults), faults > 0xffffu);
  for (var i = local; i < args.vocabulary && faults > 0u; i += WORKGROUP) {
    logits[row0 + i] = fill;
  }
}
