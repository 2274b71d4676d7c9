// Weights as 4-bit codes, w = scale · (code - 8) with a scale for 32 k's: codes[group of 32 columns][k / 8][lane of 8][4 columns],
// eight codes a word, k in the lowest bits; scales[group][k / 32][lane][4 columns].
const STEP = 8u;
const STEPS_AT_ONCE = 2u; // in a loop over few rows: about four loads
alias Pack = vec4u;
alias Scale = vec4f;

@group(0) @binding(1) var<storage, read> codes: array<vec4u>;
@group(0) @binding(2) var<storage, read> scales: array<vec4f>;

// `block` counts blocks of 32 k's over all groups.
fn load_scale(block: u32, lane: u32) -> Scale {
  return scales[block * 8u + lane];
}

// `step` counts steps of STEP k's over all groups.
fn load_pack(step: u32, lane: u32) -> Pack {
  return codes[step * 8u + lane];
}

// Four columns at each of the k's 4·h to 4·h + 3 of a pack.
fn unpack(pack: Pack, scale: Scale, h: u32) -> array<vec4f, 4> {
  var w: array<vec4f, 4>;
  let signed = (pack ^ vec4u(0x88888888u)) << vec4u(16u - 16u * h);
  for (var i = 0u; i < 4u; i++) {
    w[i] = vec4f(bitcast<vec4i>(signed << vec4u(12u - 4u * i)) >> vec4u(28u)) * scale;
  }
  return w;
}
