// Fragments as matrices that the lanes of a subgroup hold together, multiplied by matrix units.
enable subgroups;
enable chromium_experimental_subgroup_matrix;
requires subgroup_id, subgroup_uniformity;

const REQUIRED_SUBGROUP = 0u; // SUBGROUP where subgroups have other sizes, too; 0: they have this one

alias Left = subgroup_matrix_left<f16, FRAGMENT_DEPTH, FRAGMENT_ROWS>; // [rows][k's]
alias Right = subgroup_matrix_right<f16, FRAGMENT_COLUMNS, FRAGMENT_DEPTH>;
alias Sum = subgroup_matrix_result<f32, FRAGMENT_COLUMNS, FRAGMENT_ROWS>;

// The bound of a loop over fragments, which stay in registers only where the loop is unrolled.
fn turns(count: u32) -> u32 {
  return count;
}

// Four f16 of two words.
fn half_of(words: vec2u) -> vec4<f16> {
  return bitcast<vec4<f16>>(words);
}

fn left_at(at: u32) -> Left {
  return subgroupMatrixLoad<Left, row_major>(&xs, at, STRIDE);
}

fn right_at(at: u32) -> Right {
  return subgroupMatrixLoad<Right, col_major>(&ws, at, STRIDE);
}

fn add_product(c: Sum, left: Left, right: Right, lane: u32) -> Sum {
  return subgroupMatrixMultiplyAccumulate(left, right, c);
}

// Keeps a fragment in ys.
fn keep(at: u32, c: Sum, lane: u32) {
  subgroupMatrixStore<row_major>(&ys, at, c, 32u);
}

// Keeps a fragment in ys, whose rows are so many floats apart, and takes one from there.
fn keep_apart(at: u32, stride: u32, c: Sum, lane: u32) {
  subgroupMatrixStore<row_major>(&ys, at, c, stride);
}

fn kept_at(at: u32, stride: u32, lane: u32) -> Sum {
  return subgroupMatrixLoad<Sum, row_major>(&ys, at, stride);
}

@compute @workgroup_size(LANES)
fn main(
  @builtin(workgroup_id) workgroup: vec3u,
  @builtin(local_invocation_index) local: u32,
  @builtin(subgroup_id) subgroup: u32,
  @builtin(subgroup_invocation_id) lane: u32,
) {
  compute_tile(workgroup, local, subgroup, lane);
}
