// Softmax over a query's tokens and its head's sink: an additional score without a value, which takes a share of the weights
// (gpt-oss).
@group(0) @binding(1) var<storage, read> sinks: array<f32>;

fn total_of(met: Met, head: u32) -> f32 {
  return met.sum + exp(min(sinks[head] - met.largest, 80.0));
}
