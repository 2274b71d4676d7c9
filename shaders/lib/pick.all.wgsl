// Every row in turn.
fn picked(row: u32) -> u32 {
  return row;
}
