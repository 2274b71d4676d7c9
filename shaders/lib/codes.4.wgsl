// Codes of 4 bits, less OFFSET: codes[group of 32 columns][k / 8][lane of 8][4 columns], eight codes a word, k in the lowest bits.
#import "lib/digits.alone.wgsl"
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

// Code c in the mantissa of a power of two 2ⁿ is the float 2ⁿ + c at once, where its lowest bit stands for 1.
fn digits_of(pack: Pack, high: High, quad: u32) -> array<vec4f, 4> {
  let half = pack >> vec4u(16u * (quad % 2u));
  return array<vec4f, 4>(
    bitcast<vec4f>((half & vec4u(0xfu)) | vec4u(0x4b000000u)) - (8388608.0 + OFFSET), // 2²³
    bitcast<vec4f>((half & vec4u(0xf0u)) | vec4u(0x49000000u)) - (524288.0 + OFFSET), // 2¹⁹
    bitcast<vec4f>((half & vec4u(0xf00u)) | vec4u(0x47000000u)) - (32768.0 + OFFSET), // 2¹⁵
    bitcast<vec4f>((half & vec4u(0xf000u)) | vec4u(0x45000000u)) - (2048.0 + OFFSET), // 2¹¹
  );
}

const CODE_BIAS = -i32(OFFSET); // see lib/integer-dots.wgsl

// A byte each, of eight k's those at 0, 2, 4 and 6, then the others: the order of quantize-rows.wgsl if INTERLEAVED.
fn words_of(pack: Pack, high: High, quad: u32) -> vec4u {
  return (pack >> vec4u(4u * (quad % 2u))) & vec4u(0x0f0f0f0fu);
}
