// Weights as f32: codes[group of 32 columns][k][lane of 8][4 columns].
const STEP = 4u;
const STEPS_AT_ONCE = 1u; // in matmul-few.wgsl: what ran fastest on llvmpipe
alias Pack = array<vec4f, 4>;
alias Scale = f32;

@group(0) @binding(1) var<storage, read> codes: array<vec4f>;

fn load_scale(block: u32, lane: u32) -> Scale {
  return 1.0;
}

// `step` counts steps of STEP k's over all groups.
fn load_pack(step: u32, lane: u32) -> Pack {
  let i = step * 32u + lane;
  return Pack(codes[i], codes[i + 8u], codes[i + 16u], codes[i + 24u]);
}

// Four columns at each of the k's 4·h to 4·h + 3 of a pack.
fn unpack(pack: Pack, scale: Scale, h: u32) -> array<vec4f, 4> {
  return pack;
}
