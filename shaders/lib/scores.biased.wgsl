// Scores have a bias by head and by the distance from the query to the key (T5).
const BIASED = true;
const LOG2E = 1.4426950408889634;

@group(0) @binding(7) var<storage, read> biases: array<f32>; // [key − query + bias_zero][head]

// Rows of this strip.
fn bias_of(item: u32, head: u32, query: u32, key: u32) -> f32 {
  let distance = args.first_key + key + args.bias_zero - (args.first_query + query);
  return LOG2E * biases[distance * args.bias_stride + head];
}
