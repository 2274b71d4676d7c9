// Products of a tile of 32 × 64 sums, whose inputs 128 lanes share: 32 terms at a time, each of 32 values on the left and of 64 on the right.
// A lane has four rows of the tile and four columns.
#import "lib/rolled.wgsl"

const LANES = 128u;
const LEFT = 8u;   // quads of a term on the left: the tile's rows
const RIGHT = 16u; // and on the right: its columns
const TERMS = 32u;

var<workgroup> left: array<vec4f, TERMS * LEFT>;
var<workgroup> right: array<vec4f, TERMS * RIGHT>;

// Adds the products of the terms to a lane's sums: a column of the matrix is a row of the tile. `start`: loop_start.
fn add_products(sums: mat4x4f, local: u32, start: u32) -> mat4x4f {
  var all = sums;
  for (var t = start; t < TERMS; t++) {
    let of_row = left[t * LEFT + local / RIGHT];
    let of_column = right[t * RIGHT + local % RIGHT];
    all += mat4x4f(of_row.x * of_column, of_row.y * of_column, of_row.z * of_column, of_row.w * of_column);
  }
  return all;
}
