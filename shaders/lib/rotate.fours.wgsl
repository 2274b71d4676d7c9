// Rotates four dimensions of a head at a time, of all fours each `step`-th from `first` on; those that are rotated are a multiple of 4.
fn rotate_head(row: u32, head: u32, token: u32, base: u32, scale: f32, first: u32, step: u32) {
  let is_query = head < args.heads;
  for (var i = first; i < args.rotated / 4u; i += step) {
    let at = places_of(i, args.rotated);
    let turn = turn_of(row, 2u * i);
    let pair = paired(mat2x2f(value(base, at.x, scale, is_query), value(base, at.y, scale, is_query)));
    let low = pair[0] * turn.xz - pair[1] * turn.yw;
    let high = pair[1] * turn.xz + pair[0] * turn.yw;
    let turned = paired(mat2x2f(low, high));
    put_turned(row, head, token, at.x, turned[0]);
    put_turned(row, head, token, at.y, turned[1]);
  }
}
