// Formats of codes whose scales tensors of their own hold, one row each: bits of a code, and k's that share a scale as packed. A group of more
// k's repeats its scale.

interface CodedFormat {
  bits: 4 | 8;
  step: 4 | 8;
  /** `bytes` of everything that a group of k's has beside its codes. */
  scale: { block: ScaledKs; bytes: number };
  /** See WeightFormat. */
  integers: boolean;
  /** The formula of a weight, for tables. */
  rule: string;
}

type ScaledKs = 32 | 64 | 128 | 256;

const coded =
  (bytes: number, rule: string, integers = true) =>
  (bits: 4 | 8, block: ScaledKs): CodedFormat => ({
    ...{ bits, rule, integers },
    step: bits === 4 ? 8 : 4,
    scale: { block, bytes },
  });

/** GPTQ, AWQ, compressed-tensors: a scale in f32, which holds those in f16 and bf16 exactly, and a zero point in a byte. */
const integer = coded(4 + 1, 'scale · (code - zero)');
/** NF4 and FP4 of bitsandbytes: a scale in f32, and a table for all. */
const lookup = coded(4, 'scale · table[code]', false);
/** LLM.int8 of bitsandbytes: the largest magnitude in f32. */
const ranged = coded(4, 'scale · code / 127');
/** MLX: a scale and an offset of 16 bits. */
const affine = coded(2 + 2, 'scale · code + offset');
const NVFP4 = 'factor · float of E4M3 · float of E2M1';
/** SVDQuant's NVFP4: two E4M3 for the halves of 32 k's, and a factor of the row in bf16. */
const halved = coded(2 + 2, NVFP4, false);
/** NVFP4 of ModelOpt and compressed-tensors: an E4M3 for 16 k's, and for all of them a factor in f32. */
const nvfp4 = (block: 64 | 256) => coded(block / 16 + 4, NVFP4, false)(4, block);

export const CODED_FORMATS = {
  u4_32: integer(4, 32),
  u4_64: integer(4, 64),
  u4_128: integer(4, 128),
  u8_32: integer(8, 32),
  u8_64: integer(8, 64),
  u8_128: integer(8, 128),
  nf4_32: lookup(4, 32),
  nf4_64: lookup(4, 64),
  fp4_32: lookup(4, 32),
  fp4_64: lookup(4, 64),
  i8_32: ranged(8, 32),
  i8_128: ranged(8, 128),
  nvfp4_32: halved(4, 32),
  nvfp4_64: nvfp4(64),
  nvfp4_256: nvfp4(256),
  affine4_32_f16: affine(4, 32),
  affine4_64_f16: affine(4, 64),
  affine4_128_f16: affine(4, 128),
  affine4_32_bf16: affine(4, 32),
  affine4_64_bf16: affine(4, 64),
  affine4_128_bf16: affine(4, 128),
  affine8_32_f16: affine(8, 32),
  affine8_64_f16: affine(8, 64),
  affine8_128_f16: affine(8, 128),
  affine8_32_bf16: affine(8, 32),
  affine8_64_bf16: affine(8, 64),
  affine8_128_bf16: affine(8, 128),
} as const satisfies Record<string, CodedFormat>;

export type CodedName = keyof typeof CODED_FORMATS;
