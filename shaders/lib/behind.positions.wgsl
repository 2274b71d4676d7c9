// Behind a query stands the slope of its head, behind a key its position in two digits, so that their product is slope · position: the bias of
// ALiBi, but for slope · position of the query, which all scores of a row share. Digits are integers that f16 holds. Zeros follow.
#import "lib/row-positions.wgsl"

const DIGIT = 256u;

// The heads up to a power of two have powers of one number, the others odd powers of its root.
fn slope_of(head: u32) -> f32 {
  let first = f32(head + 1u);
  let other = f32(2u * (head - args.slope_heads) + 1u) * 0.5;
  return args.slope_scale * exp2(-args.slope_step * select(other, first, head < args.slope_heads));
}

fn behind(row: u32, head: u32, d: u32) -> vec2f {
  if (d > args.dims) {
    return vec2f(0.0);
  }
  if (head < args.heads) {
    return slope_of(head) * vec2f(f32(DIGIT), 1.0);
  }
  let position = rows[row].position;
  return vec2f(f32(position / DIGIT), f32(position % DIGIT));
}
