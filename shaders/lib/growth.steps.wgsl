// Queries grow with the logarithm of their position, in steps of a length.
#import "lib/batch.wgsl"

@group(0) @binding(9) var<storage, read> rows: array<Row>;

fn growth_of(row: u32) -> f32 {
  return 1.0 + args.growth * log(1.0 + f32(rows[row].position / args.growth_length));
}
