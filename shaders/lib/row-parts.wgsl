// Records that the workgroups of a row exchange while a token is drawn.
#import "lib/choice.wgsl"
#import "lib/owned.part.wgsl"

const NONE = 0xffffffffu; // no token

struct Part {
  value: f32,     // the largest logit, if above NEVER
  token: u32,     // NONE: there is none
  strange: u32,   // 1: a logit was NaN
}

// Bounds of the cut of top-k and top-p, a key in low … high, and the sums of tokens with keys above `high`.
struct Bracket {
  low: u32,
  high: u32,
  count: u32,
  mass: f32,
  allowed: f32,   // mass that top-p allows above the cut
  known: u32,     // 1: high is the cut, and its sums are known
}

// The tokens that a part has drawn.
struct Drawn {
  score: f32,
  token: u32,       // of those above the cut
  equal_score: f32,
  equal_token: u32, // of those at the cut
  equals: u32,      // number of tokens at the cut
  pad: u32,
}

// Whether top-k or top-p cut the row.
fn is_cut(choice: Choice) -> bool {
  return choice.temperature > 0.0 && (choice.top_k > 0u || choice.top_p < 1.0);
}
