// Bins of a row's tokens by the distance of their logit to the largest one; they bound the cut before exact sums find it (Choice is
// lib/choice.wgsl's).
const BINS = 256u;

struct Scale {
  width: f32,  // logits of a bin
  nats: f32,   // the same, divided by the temperature
  one: f32,    // weight of a bin's heaviest token; the sum of all tokens' weights has 31 bits
}

// An eighth of the temperature, but not less than a sixteenth of a logit unless a bin's weights would differ by more than exp(4).
fn scale_of(choice: Choice) -> Scale {
  let width = min(0.125 * max(choice.temperature, 0.5), 4.0 * choice.temperature);
  return Scale(width, width / choice.temperature, f32(0x7fffffffu / args.vocabulary));
}

// The last bin also holds all greater distances.
fn bin_of(scale: Scale, distance: f32) -> u32 {
  return u32(min(distance / scale.width, f32(BINS - 1u)));
}

// Weight of a token relative to the heaviest of its bin, as an integer, so that the order of sums does not matter.
fn weight_in(scale: Scale, bin: u32, relative: f32) -> u32 {
  return u32(exp(min(relative + f32(bin) * scale.nats, 0.0)) * scale.one);
}
