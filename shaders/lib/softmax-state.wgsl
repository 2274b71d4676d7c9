// State of a softmax over the tokens visited so far.

const MASKED = -1e30;

struct Met {
  largest: f32, // score
  sum: f32,     // of exp(score - largest)
}
