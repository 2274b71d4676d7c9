// Softmax over a query's tokens, without a sink. A query that sees no token gets zeros.
fn total_of(met: Met, head: u32) -> f32 {
  return select(met.sum, 1.0, met.sum == 0.0);
}
