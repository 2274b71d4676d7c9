// Codes of 4 bits that are floats of two exponent bits and one mantissa bit, doubled; laid out as in codes.4.wgsl.
#import "lib/digits.shared.wgsl"
#import "lib/e2m1.wgsl"
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

// `places`: four times the lower three bits of a code; `signs`: its highest bit.
fn float_of(places: vec4u, signs: vec4u) -> vec4f {
  let magnitude = (vec4u(DOUBLED) >> (places & vec4u(28u))) & vec4u(15u);
  let value = bitcast<vec4u>(bitcast<vec4f>(magnitude | vec4u(0x4b000000u)) - 8388608.0); // 2²³
  return bitcast<vec4f>(value | (signs & vec4u(0x80000000u)));
}

fn pick(code: vec4u) -> vec4f {
  return float_of(code << vec4u(2u), code << vec4u(28u));
}

fn digits_of(pack: Pack, high: High, quad: u32) -> array<vec4f, 4> {
  let half = pack >> vec4u(16u * (quad % 2u));
  return array<vec4f, 4>(
    float_of(half << vec4u(2u), half << vec4u(28u)),
    float_of(half >> vec4u(2u), half << vec4u(24u)),
    float_of(half >> vec4u(6u), half << vec4u(20u)),
    float_of(half >> vec4u(10u), half << vec4u(16u)),
  );
}
