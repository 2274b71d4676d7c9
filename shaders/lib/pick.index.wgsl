// Normalizes only the rows that `index` lists.
@group(0) @binding(4) var<storage, read> index: array<u32>;

fn picked(row: u32) -> u32 {
  return index[row];
}
