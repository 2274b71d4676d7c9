// Normalizes every row in order.
fn picked(row: u32) -> u32 {
  return row;
}
