// Weights from codes and scales: digits_of (lib/codes.*) gives four columns' codes at four k's as numbers, scaled (lib/scales.*) what they stand for.
struct Block {
  scale: Scale,
  high: High,
}

fn load_block(block: u32, lane: u32) -> Block {
  return Block(load_scale(block, lane), load_high(block, lane));
}

// Four columns at each of the k's 4 · quad to 4 · quad + 3 of a block.
fn unpack(pack: Pack, block: Block, quad: u32) -> array<vec4f, 4> {
  let digits = digits_of(pack, block.high, quad);
  let scale = scale_at(block.scale, quad);
  return array<vec4f, 4>(
    scaled(digits[0], scale),
    scaled(digits[1], scale),
    scaled(digits[2], scale),
    scaled(digits[3], scale),
  );
}
