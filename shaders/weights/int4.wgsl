// Weights as 4-bit codes, w = scale · (code - 8) with a scale for 32 k's: codes[group of 32 columns][k / 8][lane of 8][4 columns],
// eight codes a word, k in the lowest bits; scales[group][k / 32][lane][4 columns].
const STEP = 8u;
const STEPS_AT_ONCE = 1u; // in matmul-few.wgsl: what ran fastest on llvmpipe
alias Pack = vec4u;
alias Block = vec4f;

@group(0) @binding(1) var<storage, read> codes: array<vec4u>;
@group(0) @binding(2) var<storage, read> scales: array<vec4f>;

// `block` counts blocks of 32 k's over all groups.
fn load_block(block: u32, lane: u32) -> Block {
  return scales[block * 8u + lane];
}

// Steps of STEP k's, counted within their block.
fn load_pack(block: u32, step: u32, lane: u32) -> Pack {
  return codes[(block * 4u + step) * 8u + lane];
}

// Four columns at each of the k's 4 · quad to 4 · quad + 3 of a block. Code c in the mantissa of a power of two 2ⁿ is the float 2ⁿ + c at
// once, where its lowest bit stands for 1: neither shifted into place nor converted.
fn unpack(pack: Pack, scale: Block, quad: u32) -> array<vec4f, 4> {
  let half = pack >> vec4u(16u * (quad % 2u));
  return array<vec4f, 4>(
    (bitcast<vec4f>((half & vec4u(0xfu)) | vec4u(0x4b000000u)) - 8388616.0) * scale, // 2²³ + 8
    (bitcast<vec4f>((half & vec4u(0xf0u)) | vec4u(0x49000000u)) - 524296.0) * scale, // 2¹⁹ + 8
    (bitcast<vec4f>((half & vec4u(0xf00u)) | vec4u(0x47000000u)) - 32776.0) * scale, // 2¹⁵ + 8
    (bitcast<vec4f>((half & vec4u(0xf000u)) | vec4u(0x45000000u)) - 2056.0) * scale, // 2¹¹ + 8
  );
}
