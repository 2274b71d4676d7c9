// Places of a lane's four columns.
struct Place {
  group: u32,   // of the window; one that exists, even where the lane has no columns
  y_quad: u32,
  inside: bool, // whether it has columns in this window
}
