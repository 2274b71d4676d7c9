// All rows use the same matrix.
#import "lib/place.wgsl"

fn is_idle(tile: u32) -> bool {
  return false;
}

fn place_of(tile: u32, column: u32) -> Place {
  return Place(min(column / 8u, args.groups - 1u), args.first_group * 8u + column, column / 8u < args.groups);
}

// The group of columns whose bias comes first for a row.
fn bias_group(row: u32) -> u32 {
  return 0u;
}

fn x_row(row: u32) -> u32 {
  return row;
}
