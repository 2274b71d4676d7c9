// Eight scales and eight minima of 6 bits in 12 bytes, as GGUF's Q4_K and Q5_K hold them behind the two f16 that they are multiplied by:
// those of the first four blocks of 32 in the low bits of bytes 0 to 7, those of the others in bytes 8 to 11 and in what is left.
#import "lib/stored.wgsl"

fn minor_at(at: u32, b: u32) -> vec2u {
  let low = at + 4u + b % 4u;
  let scale = byte_at(low);
  let minimum = byte_at(low + 4u);
  let rest = byte_at(low + 8u);
  return select(
    vec2u(scale & 63u, minimum & 63u),
    vec2u((rest & 15u) | ((scale >> 2u) & 48u), (rest >> 4u) | ((minimum >> 2u) & 48u)),
    b >= 4u,
  );
}

// The scale and the minimum of a block of 32, a byte each.
fn minor_bits(at: u32, b: u32) -> u32 {
  let minor = minor_at(at, b);
  return minor.x | (minor.y << 8u);
}

// The two f16 of all.
fn major_bits(at: u32) -> u32 {
  return half_at(at) | (half_at(at + 2u) << 16u);
}

fn weight_at(at: u32, i: u32) -> f32 {
  let minor = vec2f(minor_at(at, i / 32u));
  return float_at(at) * minor.x * f32(code_at(at, i)) - float_at(at + 2u) * minor.y;
}
