// The 16 values of bitsandbytes' FP4 by ascending code, whose highest bit is the sign: 1 / 192 of 0, 1, 128, 192, 64, 96, 32 and 48. The product
// with the rounded inverse is the rounded quotient for each. Code 8 is -0, which adds as 0 does.
const VALUES_0 = 0xc0800100u;
const VALUES_4 = 0x30206040u;
const INVERSE = 0.0052083334885537624;

fn pick(code: vec4u) -> vec4f {
  let word = select(vec4u(VALUES_0), vec4u(VALUES_4), (code & vec4u(4u)) != vec4u(0u));
  let value = (word >> ((code & vec4u(3u)) << vec4u(3u))) & vec4u(255u);
  let magnitude = (bitcast<vec4f>(value | vec4u(0x4b000000u)) - 8388608.0) * INVERSE; // 2²³
  return bitcast<vec4f>(bitcast<vec4u>(magnitude) | ((code & vec4u(8u)) << vec4u(28u)));
}
