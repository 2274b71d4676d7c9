// A bracket of keys is divided evenly by PROBES probes, the last of which is its upper end (Bracket is lib/row-parts.wgsl's). The cut is the
// smallest key of which at least the first token is kept: fewer than k tokens and at most p of the probability mass have larger keys.

// Keys from one probe of a bracket to the next.
fn probe_step(bracket: Bracket) -> u32 {
  return (bracket.high - bracket.low + PROBES) / PROBES;
}

fn probe_of(bracket: Bracket, number: u32) -> u32 {
  return min(bracket.low + (number + 1u) * probe_step(bracket) - 1u, bracket.high);
}

// The part of a bracket between a probe and the one before, with the sums of tokens above that probe.
fn part_of(bracket: Bracket, number: u32, count: u32, mass: f32) -> Bracket {
  let low = bracket.low + number * probe_step(bracket);
  let high = probe_of(bracket, number);
  return Bracket(low, high, count, mass, bracket.allowed, u32(low == high));
}
