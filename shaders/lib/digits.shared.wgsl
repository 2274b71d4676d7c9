// Digits of 4-bit codes, laid out as in codes.4.wgsl, by a table in workgroup memory: a look-up costs a GPU less than the selections of pick. Lanes
// that read one entry share the read, and different entries lie in different banks.
const TABLED = true; // part of workgroup memory is in use

var<workgroup> table: array<f32, 16>;

// Called by all lanes of a workgroup, of at least 16.
fn prepare_digits(local: u32, lanes: u32) {
  if (local < 16u) {
    table[local] = pick(vec4u(local)).x;
  }
  workgroupBarrier();
}

// The values of four codes at bit `at` of their words.
fn look_up(words: vec4u, at: u32) -> vec4f {
  let codes = (words >> vec4u(at)) & vec4u(15u);
  return vec4f(table[codes.x], table[codes.y], table[codes.z], table[codes.w]);
}

fn shared_digits(pack: Pack, high: High, quad: u32) -> array<vec4f, 4> {
  let at = 16u * (quad % 2u);
  return array<vec4f, 4>(look_up(pack, at), look_up(pack, at + 4u), look_up(pack, at + 8u), look_up(pack, at + 12u));
}
