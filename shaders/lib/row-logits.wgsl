// Arguments and inputs of kernels that read logits with several workgroups a row and change none.
#import "lib/choice.wgsl"

struct Args {
  vocabulary: u32,
  stride: u32,   // logits from one row to the next
}

@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<storage, read> choices: array<Choice>;
@group(0) @binding(2) var<uniform> args: Args;
