// Queries see all blocks of keys.
fn sees_group(item: u32, head: u32, query: u32, key: u32) -> bool {
  return true;
}

fn divides_blocks() -> bool {
  return false;
}

fn sees_key(item: u32, head: u32, query: u32, key: u32) -> bool {
  return true;
}
