// Codes of 4 bits that stand for the values of a table (lib/table.*), laid out as in codes.4.wgsl.
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

fn pick(code: vec4u) -> vec4f {
  let is_odd = (code & vec4u(4u)) != vec4u(0u);
  let low = select(vec4u(VALUES_0), vec4u(VALUES_4), is_odd);
  let high = select(vec4u(VALUES_8), vec4u(VALUES_12), is_odd);
  let word = select(low, high, (code & vec4u(8u)) != vec4u(0u));
  let value = (word >> ((code & vec4u(3u)) << vec4u(3u))) & vec4u(255u);
  return bitcast<vec4f>(value | vec4u(0x4b000000u)) - 8388736.0; // 2²³ + 128
}

fn digits_of(pack: Pack, high: High, quad: u32) -> array<vec4f, 4> {
  let half = pack >> vec4u(16u * (quad % 2u));
  return array<vec4f, 4>(pick(half), pick(half >> vec4u(4u)), pick(half >> vec4u(8u)), pick(half >> vec4u(12u)));
}
