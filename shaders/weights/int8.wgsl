// Weights as 8-bit codes, w = scale · code with a scale for 32 k's: codes[group of 32 columns][k / 4][lane of 8][4 columns],
// four codes a word, k in the lowest byte; scales[group][k / 32][lane][4 columns].
const STEP = 4u;
const STEPS_AT_ONCE = 2u; // in matmul-few.wgsl: what ran fastest on llvmpipe
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
  return codes[(block * 8u + step) * 8u + lane];
}

// Four columns at each of the k's 4 · quad to 4 · quad + 3 of a block. As in int4.wgsl, the code, here plus 128, becomes a float in the
// mantissa of a power of two.
fn unpack(pack: Pack, scale: Block, quad: u32) -> array<vec4f, 4> {
  let low = pack ^ vec4u(0x80808080u);
  let high = low >> vec4u(16u);
  return array<vec4f, 4>(
    (bitcast<vec4f>((low & vec4u(0xffu)) | vec4u(0x4b000000u)) - 8388736.0) * scale, // 2²³ + 128
    (bitcast<vec4f>((low & vec4u(0xff00u)) | vec4u(0x47000000u)) - 32896.0) * scale, // 2¹⁵ + 128
    (bitcast<vec4f>((high & vec4u(0xffu)) | vec4u(0x4b000000u)) - 8388736.0) * scale,
    (bitcast<vec4f>((high & vec4u(0xff00u)) | vec4u(0x47000000u)) - 32896.0) * scale,
  );
}
