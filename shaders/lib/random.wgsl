// Stateless random numbers: hashes of the values that identify a draw.
fn mix(value: u32) -> u32 {
  var h = value;
  h = (h ^ (h >> 16u)) * 0x85ebca6bu;
  h = (h ^ (h >> 13u)) * 0xc2b2ae35u;
  return h ^ (h >> 16u);
}

// -log(-log(u)) for a uniform u; the tail is accurate down to 2⁻³².
fn gumbel(hash: u32) -> f32 {
  let v = min((f32(hash) + 0.5) * 2.3283064365386963e-10, 0.99999994);
  let exponential = select(-log(1.0 - v), v * (1.0 + v * (0.5 + v * 0.33333334)), v < 0.01);
  return -log(exponential);
}
