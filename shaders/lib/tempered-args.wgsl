// Arguments of kernels for log probabilities, and what they read.
#import "lib/choice.wgsl"

struct Args {
  vocabulary: u32,
  stride: u32,   // logits from one row to the next
  tempered: u32, // 1: log probabilities of logits divided by the temperature
}

@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<storage, read> choices: array<Choice>;
