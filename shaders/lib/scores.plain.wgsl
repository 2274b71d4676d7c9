// Scores have no bias.
const BIASED = false;

fn bias_of(item: u32, head: u32, query: u32, key: u32) -> f32 {
  return 0.0;
}
