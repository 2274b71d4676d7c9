// All frequencies of a row go by its position.
fn position_of(row: u32, i: u32) -> u32 {
  return rows[row].position;
}
