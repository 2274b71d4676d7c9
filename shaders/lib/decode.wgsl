// Weights from codes and scales: digits_of (lib/codes.*) gives four columns' codes at four k's as numbers, scaled (lib/scales.*) what they stand for.
// Kernels with workgroups of many lanes may decode by a table in workgroup memory (shared_digits), and may multiply by a block's factor once: a
// weight is a term times the factor of its FACTOR_QUADS quads of k's, 8 or 4; 0: terms are the weights, because an offset follows the scale.
struct Block {
  scale: Scale,
  high: High,
}

fn load_block(block: u32, lane: u32) -> Block {
  return Block(load_scale(block, lane), load_high(block, lane));
}

fn weights_from(digits: array<vec4f, 4>, block: Block, quad: u32) -> array<vec4f, 4> {
  let scale = scale_at(block.scale, quad);
  return array<vec4f, 4>(
    scaled(digits[0], scale),
    scaled(digits[1], scale),
    scaled(digits[2], scale),
    scaled(digits[3], scale),
  );
}

// Four columns at each of the k's 4 · quad to 4 · quad + 3 of a block.
fn unpack(pack: Pack, block: Block, quad: u32) -> array<vec4f, 4> {
  return weights_from(digits_of(pack, block.high, quad), block, quad);
}

// The numbers of unpack; all lanes of the workgroup must have called prepare_digits before.
fn unpack_shared(pack: Pack, block: Block, quad: u32) -> array<vec4f, 4> {
  return weights_from(shared_digits(pack, block.high, quad), block, quad);
}

// The numbers of unpack for kernels on matrix units; all lanes of the workgroup must have called prepare_tile before.
fn unpack_tile(pack: Pack, block: Block, quad: u32) -> array<vec4f, 4> {
  return weights_from(tile_digits(pack, block.high, quad), block, quad);
}

// Factors of the numbers of unpack, to be multiplied by factor_at; all lanes of the workgroup must have called prepare_digits before.
fn terms(pack: Pack, block: Block, quad: u32) -> array<vec4f, 4> {
  let digits = shared_digits(pack, block.high, quad);
  let scale = scale_at(block.scale, quad);
  return array<vec4f, 4>(
    term(digits[0], scale),
    term(digits[1], scale),
    term(digits[2], scale),
    term(digits[3], scale),
  );
}

fn factor_at(block: Block, quad: u32) -> vec4f {
  return factor(scale_at(block.scale, quad));
}
