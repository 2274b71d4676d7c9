// Weights that are numbers: see lib/decode.wgsl.
const FACTOR_QUADS = 0u;
const TABLED = false;

fn prepare_digits(local: u32, lanes: u32) {
}

fn unpack_shared(pack: Pack, block: Block, quad: u32) -> array<vec4f, 4> {
  return unpack(pack, block, quad);
}

fn terms(pack: Pack, block: Block, quad: u32) -> array<vec4f, 4> {
  return unpack(pack, block, quad);
}

fn factor_at(block: Block, quad: u32) -> vec4f {
  return vec4f(1.0);
}
