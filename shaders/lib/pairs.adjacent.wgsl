// A rotation turns 2 · d with 2 · d + 1 (GPT-J's order). The four dimensions of step i lie as two pairs of neighbours.
fn places_of(i: u32, rotated: u32) -> vec2u {
  return vec2u(4u * i, 4u * i + 2u);
}

// Columns are what is turned with what; and back.
fn paired(values: mat2x2f) -> mat2x2f {
  return transpose(values);
}

// The dimension that a rotation turns together with d.
fn partner_of(d: u32, rotated: u32) -> u32 {
  return d ^ 1u;
}

// The angle of the pair whose first dimension is d.
fn angle_of(d: u32) -> u32 {
  return d / 2u;
}
