// All rotary frequencies of a row use its one position.
fn position_of(row: u32, i: u32) -> u32 {
  return rows[row].position;
}
