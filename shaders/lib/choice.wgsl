// How to sample one row of logits.
struct Choice {
  temperature: f32,  // 0: greedy sampling
  top_p: f32,
  min_p: f32,
  top_k: u32,        // 0: no top-k
  seed_low: u32,
  seed_high: u32,
  position: u32,
  slot: u32,
  bias_first: u32,
  bias_count: u32,
  frequency: f32,
  presence: f32,
  repetition: f32,
  count_first: u32,
  count_count: u32,
  pending: u32,      // 1: the token last sampled in the slot is not counted yet
  mask: u32,         // 0: all tokens are allowed; otherwise the row of `masks`, plus one
  logprobs: u32,     // 0: none; otherwise the number of most likely tokens to report, plus one
  processor: u32,    // 0: no function of the request; otherwise its number
  pad: u32,
}

// Logit of a masked token; no bias can raise it, and no token below NEVER is sampled.
const MASKED = -3.4e38;
const NEVER = -3.0e38;
