// Scores of tokens in a draw by Gumbel-max; the largest wins (Choice is lib/choice.wgsl's).
#import "lib/random.wgsl"

const LOWEST = -3.4e38; // below every score

struct Race {
  largest: f32,  // logit
  rate: f32,
  floor: f32,    // of min-p
  stream: u32,
  seed: u32,
}

fn race_of(choice: Choice, largest: f32) -> Race {
  let floor = select(LOWEST, log(choice.min_p), choice.min_p > 0.0);
  let stream = mix(choice.seed_low ^ mix(choice.seed_high ^ mix(choice.position + 0x9e3779b9u)));
  return Race(largest, 1.0 / choice.temperature, floor, stream, choice.seed_low);
}

// Whether a token with this logit may be drawn.
fn may_win(race: Race, value: f32) -> bool {
  return (value - race.largest) * race.rate >= race.floor && value > NEVER;
}

fn score_of(race: Race, value: f32, token: u32) -> f32 {
  return (value - race.largest) * race.rate + gumbel(mix(mix(token * 0x9e3779b1u + race.stream) ^ race.seed));
}
