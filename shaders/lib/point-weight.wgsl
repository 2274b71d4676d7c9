// A weight of a stored block whose points have magnitudes 8, 25 and 43 (iq2_xxs, iq2_xs, iq2_s), apart from their signs.

fn weight_at(at: u32, i: u32) -> f32 {
  let code = point_code(index_at(at, i / 8u), i % 8u);
  let magnitude = f32(8u + 17u * code + code / 2u);
  let scale = float_at(at) * (f32(minor_at(at, i / 16u)) + 0.5) * 0.25;
  return scale * select(magnitude, -magnitude, ((signs_at(at, i / 8u) >> (i % 8u)) & 1u) == 1u);
}
