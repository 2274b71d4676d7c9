// Normalizes only the rows that `index` lists, from its entry `first_index` on; a row is counted from the first one of the bound part of x.
@group(0) @binding(4) var<storage, read> index: array<u32>;

fn picked(row: u32) -> u32 {
  return index[args.first_index + row] - args.first_source;
}
