// Every query sees all tokens up to itself.
fn are_chosen(row: u32, tokens: vec4u) -> vec4<bool> {
  return vec4<bool>(true);
}

fn any_chosen(first_row: u32, last_row: u32, first_page: u32, last_page: u32) -> bool {
  return true;
}
