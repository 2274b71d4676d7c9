// A rotation turns d with d + rotated / 2 (GPT-NeoX's order). The four dimensions of step i lie as two pairs of neighbours.
fn places_of(i: u32, rotated: u32) -> vec2u {
  return vec2u(2u * i, 2u * i + rotated / 2u);
}

// Columns are what is turned with what; and back.
fn paired(values: mat2x2f) -> mat2x2f {
  return values;
}

// The dimension that a rotation turns together with d.
fn partner_of(d: u32, rotated: u32) -> u32 {
  return select(d - rotated / 2u, d + rotated / 2u, d < rotated / 2u);
}

// The angle of the pair whose first dimension is d.
fn angle_of(d: u32) -> u32 {
  return d;
}
