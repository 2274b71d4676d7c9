// Queries grow with the logarithm of their position, in steps of a length.
#import "lib/row-positions.wgsl"

fn growth_of(row: u32) -> f32 {
  return 1.0 + args.growth * log(1.0 + f32((rows[row].position + args.growth_first) / args.growth_length));
}
