// The sum of a row's squares and what follows from it, to the same bits in every kernel.

fn with_squares(sum: f32, v: vec4f) -> f32 {
  return fma(v.w, v.w, fma(v.z, v.z, fma(v.y, v.y, fma(v.x, v.x, sum))));
}

fn rate_of(total: f32) -> f32 {
  return inverseSqrt(total / f32(args.columns) + args.eps);
}
