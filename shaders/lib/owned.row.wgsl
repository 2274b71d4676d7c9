// The workgroup owns all tokens of its row.
fn owns(token: u32) -> bool {
  return true;
}
