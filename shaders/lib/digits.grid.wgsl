// Digits that are values of points of a lattice: those of lib/codes.* and weights/ say which point (index_of), and make numbers of its bytes
// (grid_digits). Kernels with workgroups of many lanes copy the points to workgroup memory first: GRID_WORDS words.
const TABLED = true; // part of workgroup memory is in use

var<workgroup> table: array<u32, GRID_WORDS>;

// Called by all lanes of a workgroup.
fn prepare_digits(local: u32, lanes: u32) {
  for (var i = local; i < GRID_WORDS; i += lanes) {
    table[i] = grid[i];
  }
  workgroupBarrier();
}

fn digits_of(pack: Pack, high: High, quad: u32) -> array<vec4f, 4> {
  let index = index_of(pack, high, quad);
  let word = vec4u(
    grid[word_of(index.x)],
    grid[word_of(index.y)],
    grid[word_of(index.z)],
    grid[word_of(index.w)],
  );
  return grid_digits(quad_bytes(word, index, quad), pack, high, quad);
}

fn shared_digits(pack: Pack, high: High, quad: u32) -> array<vec4f, 4> {
  let index = index_of(pack, high, quad);
  let word = vec4u(
    table[word_of(index.x)],
    table[word_of(index.y)],
    table[word_of(index.z)],
    table[word_of(index.w)],
  );
  return grid_digits(quad_bytes(word, index, quad), pack, high, quad);
}
