// Scores of attention plus a bias of the head for the distance from a query at position `at` to each of four keys. Every query head has keys of
// its own.
#import "lib/biases.$SINKS.wgsl"

fn scored(scores: vec4f, head: u32, at: u32, tokens: vec4u) -> vec4f {
  return scores + biases_of(head, at, tokens);
}
