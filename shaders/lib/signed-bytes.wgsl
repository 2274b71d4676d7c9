// Bytes of magnitudes, from 1 to 127, with the signs of four bits: less OFFSET, as lib/byte-digits.wgsl makes floats of them.
#import "lib/byte-digits.wgsl"
const OFFSET = 128.0;

fn signed_bytes(magnitudes: vec4u, signs: vec4u) -> vec4u {
  let negative = (signs * vec4u(0x00204081u)) & vec4u(0x01010101u); // bit i of four becomes bit 8 · i
  return ((magnitudes ^ (negative * vec4u(255u))) + negative) ^ vec4u(0x80808080u);
}
