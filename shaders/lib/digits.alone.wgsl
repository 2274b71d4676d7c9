// Digits that each lane decodes alone, for kernels that could share a table.
const TABLED = false;

fn prepare_digits(local: u32, lanes: u32) {
}

fn shared_digits(pack: Pack, high: High, quad: u32) -> array<vec4f, 4> {
  return digits_of(pack, high, quad);
}
