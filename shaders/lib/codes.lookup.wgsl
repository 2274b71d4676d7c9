// Codes of 4 bits that stand for the f32 values of a table (lib/lookup.*), laid out as in codes.4.wgsl.
#import "lib/digits.shared.wgsl"
const STEP = 8u;
alias Pack = vec4u;
alias High = bool; // none

@group(0) @binding(1) var<storage, read> codes: array<vec4u>;

fn load_high(block: u32, lane: u32) -> High {
  return false;
}

fn load_pack(block: u32, step: u32, lane: u32) -> Pack {
  return codes[(block * 4u + step) * 8u + lane];
}

fn digits_of(pack: Pack, high: High, quad: u32) -> array<vec4f, 4> {
  let half = pack >> vec4u(16u * (quad % 2u));
  return array<vec4f, 4>(pick(half), pick(half >> vec4u(4u)), pick(half >> vec4u(8u)), pick(half >> vec4u(12u)));
}
