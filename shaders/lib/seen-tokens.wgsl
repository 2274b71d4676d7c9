// Which of four tokens of one page the query of a row sees, at `position` of the tile's text.
fn are_seen(tile: Tile, row: u32, position: u32, tokens: vec4u) -> vec4<bool> {
  let is_near = tokens + args.window > vec4u(reach_of(position));
  return (tokens < vec4u(seen_by(tile, position))) & is_near & are_chosen(row, tokens);
}
