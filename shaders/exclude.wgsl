// Sets the logits of tokens that a mask excludes to MASKED, in place; the others are not touched.
#import "lib/choice.wgsl"

struct Args {
  vocabulary: u32,
  stride: u32,     // logits from one row to the next
  mask_words: u32, // words of one mask
}

@group(0) @binding(0) var<storage, read_write> logits: array<f32>;
@group(0) @binding(1) var<storage, read> choices: array<Choice>;
@group(0) @binding(2) var<storage, read> masks: array<u32>;
@group(0) @binding(3) var<uniform> args: Args;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
  let word = id.x;
  let row = id.y;
  let mask = choices[row].mask;
  if (mask == 0u || word >= args.mask_words) {
    return;
  }
  let bits = masks[(mask - 1u) * args.mask_words + word];
  if (bits == 0xffffffffu) {
    return;
  }
  let first = row * args.stride + word * 32u;
  let count = min(32u, args.vocabulary - word * 32u);
  for (var i = 0u; i < count; i++) {
    if (((bits >> i) & 1u) == 0u) {
      logits[first + i] = MASKED;
    }
  }
}
