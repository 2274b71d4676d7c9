// Rotates two neighbouring dimensions of a head at a time, of all twos each `step`-th from `first` on; each dimension may be turned with one
// that lies elsewhere. Those that are rotated are even.
fn rotate_head(row: u32, head: u32, token: u32, base: u32, scale: f32, first: u32, step: u32) {
  let is_query = head < args.heads;
  for (var d = 2u * first; d < args.rotated; d += 2u * step) {
    put_turned(row, head, token, d, vec2f(turned(row, base, d, scale, is_query), turned(row, base, d + 1u, scale, is_query)));
  }
}

fn turned(row: u32, base: u32, d: u32, scale: f32, is_query: bool) -> f32 {
  let other = partner_of(d, args.rotated);
  let angle = angle_of(min(d, other));
  let turns = turn_of(row, angle - angle % 2u);
  let turn = select(turns.zw, turns.xy, angle % 2u == 0u);
  let own = value(base, d - d % 2u, scale, is_query)[d % 2u];
  let across = value(base, other - other % 2u, scale, is_query)[other % 2u] * turn.y;
  return own * turn.x + select(across, -across, d < other);
}
