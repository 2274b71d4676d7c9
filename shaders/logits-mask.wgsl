// Copies logits and sets those of tokens that a mask excludes to MASKED; rows without a mask are copied unchanged.
#import "lib/choice.wgsl"

struct Args {
  stride: u32,     // logits from one row to the next
  mask_words: u32, // words of one mask
}

@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<storage, read> choices: array<Choice>;
@group(0) @binding(2) var<storage, read> masks: array<u32>;
@group(0) @binding(3) var<uniform> args: Args;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let word = id.x;
  let row = id.y;
  if (word * 32u >= args.stride) {
    return;
  }
  var bits = 0xffffffffu;
  let mask = choices[row].mask;
  if (mask != 0u && word < args.mask_words) {
    bits = masks[(mask - 1u) * args.mask_words + word];
  }
  let first = row * args.stride + word * 32u;
  for (var i = first; i < first + 32u; i++) {
    y[i] = select(MASKED, logits[i], (bits & 1u) == 1u);
    bits >>= 1u;
  }
}
