// Low-rank factors of all LoRAs of one matrix. A matrix has parts (q, k and v; gate and up), of each LoRA each with factors
// of its own: A [rank][k] and B [rows][rank, padded to quads].
//   quad 0   u32: LoRAs, parts, quads of the largest rank, 1 where two parts take turns of two columns
//   quad 1   u32: first columns of the second and third part, columns in all, 0
//   quad 2   of each LoRA and part: quads of its rank (u32; 0: none), its rank, quads before A, quads before B
//   then     their scales, four a quad, then the factors
@group(0) @binding(0) var<storage, read> factors: array<vec4f>;

struct Head {
  loras: u32,
  parts: u32,
  rank_quads: u32,
  takes_turns: u32,
}

struct Part {
  quads: u32, // quads of its rank
  rank: u32,
  a: u32,
  b: u32,
}

fn head() -> Head {
  let at = bitcast<vec4u>(factors[0]);
  return Head(at.x, at.y, at.z, at.w);
}

// `index`: LoRA · parts + part
fn part_at(index: u32) -> Part {
  let at = bitcast<vec4u>(factors[2u + index]);
  return Part(at.x, at.y, at.z, at.w);
}
