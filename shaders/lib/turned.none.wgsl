// Heads are not rotated: positions were added to the rows.
fn turn_of(row: u32, d: u32) -> vec4f {
  return vec4f(1.0, 0.0, 1.0, 0.0);
}
