// Position of a lane's four columns in the packed matrix.
struct Place {
  group: u32,   // group within the window; a valid one even if the lane has no columns
  y_quad: u32,
  inside: bool, // whether the lane has columns in this window
}
