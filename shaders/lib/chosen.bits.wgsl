// Every query sees the tokens that token-choice-pick.wgsl chose for its row.
@group(0) @binding(9) var<storage, read> chosen: array<u32>; // [rows][pages]: a bit for each token of a page

// Four tokens of one page.
fn are_chosen(row: u32, tokens: vec4u) -> vec4<bool> {
  let bits = vec4u(chosen[row * args.chosen_words + tokens.x / 32u]);
  return ((bits >> (tokens % 32u)) & vec4u(1u)) == vec4u(1u);
}

// Whether any of these rows sees a token of these pages.
fn any_chosen(first_row: u32, last_row: u32, first_page: u32, last_page: u32) -> bool {
  var any = 0u;
  for (var row = first_row; row <= last_row; row++) {
    for (var page = first_page; page <= last_page; page++) {
      any |= chosen[row * args.chosen_words + page];
    }
  }
  return any != 0u;
}
