// Softmax over a query's tokens and nothing else.
fn total_of(met: Met, head: u32) -> f32 {
  return met.sum;
}
