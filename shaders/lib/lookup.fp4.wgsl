// The 16 values of bitsandbytes' FP4 by ascending code, whose highest bit is the sign: 1 / 192 of 0, 1, 128, 192, 64, 96, 32 and 48. Selected as
// they are, without arithmetic that a driver may fold inexactly. Code 8 is -0, which adds as 0 does.
fn pick(code: vec4u) -> vec4f {
  let bit0 = (code & vec4u(1u)) != vec4u(0u);
  let bit1 = (code & vec4u(2u)) != vec4u(0u);
  let bit2 = (code & vec4u(4u)) != vec4u(0u);
  let v0 = select(vec4f(0.0), vec4f(0.0052083334885537624), bit0);
  let v2 = select(vec4f(0.6666666865348816), vec4f(1.0), bit0);
  let v4 = select(vec4f(0.3333333432674408), vec4f(0.5), bit0);
  let v6 = select(vec4f(0.1666666716337204), vec4f(0.25), bit0);
  let magnitude = select(select(v0, v2, bit1), select(v4, v6, bit1), bit2);
  return bitcast<vec4f>(bitcast<vec4u>(magnitude) | ((code & vec4u(8u)) << vec4u(28u)));
}
