// Blocks of codes that GGUF files hold, one row each: shaders/sources/<name>.wgsl reads them as the file has them,
// shaders/codes/stored/<name>.wgsl lays them out for shaders/weights/<name>.wgsl. Names in upper case are those of the files.

export interface StoredBlock {
  /** Weights of a row in one block, and its bytes in the file. */
  values: number;
  bytes: number;
  /** Bytes of the block at which the scales of all of it stand: one or two. */
  scalesAt: readonly [number] | readonly [number, number];
  /** f16, or the exponent of a power of two in a byte. */
  scaleType: 'f16' | 'e8m0';
  /** Bits of a code, k's of a step, and scales as packed: see WeightFormat. */
  bits: number;
  step: 4 | 8 | 16;
  scale: { block: number; bytes: number };
  rule: string;
}

const F16 = { scalesAt: [0], scaleType: 'f16' } as const;
/** A scale of 16 bits for 32 k's. */
const HALF = { block: 32, bytes: 2 };
/** For 256 k's two f16, and 16 bits for each 32 of them. */
const MINIMA = { block: 256, bytes: 4 + 8 * 2 };
/** For 256 k's an f16, and 16 bits for each 32 of them. */
const SIGNED = { block: 256, bytes: 2 + 8 * 2 };
const SCALED = 'd · scale · code - dmin · minimum';

export const STORED_BLOCKS = {
  q8_0: { ...F16, values: 32, bytes: 34, bits: 8, step: 4, scale: HALF, rule: 'scale · code' },
  q4_0: { ...F16, values: 32, bytes: 18, bits: 4, step: 8, scale: HALF, rule: 'scale · (code - 8)' },
  q4_k: { ...F16, values: 256, bytes: 144, scalesAt: [0, 2], bits: 4, step: 8, scale: MINIMA, rule: SCALED },
  q5_k: { ...F16, values: 256, bytes: 176, scalesAt: [0, 2], bits: 5, step: 8, scale: MINIMA, rule: SCALED },
  q6_k: {
    ...F16,
    values: 256,
    bytes: 210,
    scalesAt: [208],
    bits: 6,
    step: 8,
    scale: SIGNED,
    rule: 'd · scale · (code - 32)',
  },
} as const satisfies Record<string, StoredBlock>;

export type StoredName = keyof typeof STORED_BLOCKS;
