// Formats of unsigned codes with scales and integer zero points that tensors of their own hold, as GPTQ, AWQ and compressed-tensors store
// them: bits of a code, and k's that share a scale as packed. A group of more k's repeats its scale.

interface CodedFormat {
  bits: 4 | 8;
  step: 4 | 8;
  scale: { block: 32 | 64 | 128; bytes: number };
}

/** A scale in f32, which holds those in f16 and bf16 exactly, and a zero point in a byte. */
const SCALE_BYTES = 4 + 1;

const coded = (bits: 4 | 8, block: 32 | 64 | 128): CodedFormat => ({
  bits,
  step: bits === 4 ? 8 : 4,
  scale: { block, bytes: SCALE_BYTES },
});

export const CODED_FORMATS = {
  u4_32: coded(4, 32),
  u4_64: coded(4, 64),
  u4_128: coded(4, 128),
  u8_32: coded(8, 32),
  u8_64: coded(8, 64),
  u8_128: coded(8, 128),
} as const satisfies Record<string, CodedFormat>;

export type CodedName = keyof typeof CODED_FORMATS;

/** The formula of a weight, for tables. */
export const CODED_RULE = 'scale · (code - zero)';
