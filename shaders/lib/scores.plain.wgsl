// Scores have no bias.
const BIASED = false;

fn bias_of(head: u32, query: u32, key: u32) -> f32 {
  return 0.0;
}
