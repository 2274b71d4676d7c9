// Blocks of codes that GGUF and FP8 files hold, one row each: shaders/sources/<name>.wgsl reads them as the file has them,
// shaders/codes/stored/<name>.wgsl lays them out for shaders/weights/<name>.wgsl. Names in upper case are those of the files.

export interface StoredBlock {
  /** Weights of a row in one block, and its bytes in the file. */
  values: number;
  bytes: number;
  /** Bytes of the block at which the scales of all of it stand: one or two. */
  scalesAt: readonly [number] | readonly [number, number];
  /** f16, or the exponent of a power of two in a byte; tensor: another tensor holds the scales. */
  scaleType: 'f16' | 'e8m0' | 'tensor';
  /** Lower seven bits of the bytes that are NaN; left out: no code is. */
  nan?: number;
  /** The type's name in files, if it is not the row's in upper case. */
  dtype?: string;
  /** The row whose packed layout it takes; left out: its own. */
  packedAs?: string;
  /** Whether codes are integers; left out: they are. */
  integers?: boolean;
  /** Bits of a code, k's of a step, and scales as packed: see WeightFormat. */
  bits: number;
  step: 4 | 8 | 16;
  scale: { block: number; bytes: number };
  rule: string;
}

const F16 = { scalesAt: [0], scaleType: 'f16' } as const;
const F16_PAIR = { ...F16, scalesAt: [0, 2] } as const;
const E8M0 = { scalesAt: [0], scaleType: 'e8m0' } as const;
const E4M3 = { integers: false, scalesAt: [0], scaleType: 'tensor', dtype: 'F8_E4M3', nan: 0x7f } as const;
const FLOATS = { integers: false, values: 32, bits: 4, step: 8 } as const;
const E2M1 = { ...FLOATS, scale: { block: 32, bytes: 1 }, rule: '2^exponent · float of E2M1' } as const;
const Q2_K = { values: 256, bytes: 84, scalesAt: [80, 82] } as const;
const Q3_K = { values: 256, bytes: 110, scalesAt: [108] } as const;
const Q6_K = { values: 256, bytes: 210, scalesAt: [208] } as const;
/** Scales of 16 and 32 bits for 32 k's. */
const HALF = { block: 32, bytes: 2 };
const PAIR = { block: 32, bytes: 4 };
/** A scale of 32 bits for 128 k's. */
const FLOAT = { block: 128, bytes: 4 };
/** For 256 k's two f16, and 16 bits for each 32 of them. */
const MINIMA = { block: 256, bytes: 4 + 8 * 2 };
/** For 256 k's an f16, and 16 bits for each 32 of them. */
const SIGNED = { block: 256, bytes: 2 + 8 * 2 };
/** For 256 k's an f16, and a byte for each 32 of them. */
const SIGNED_BYTES = { block: 256, bytes: 2 + 8 };
const WITH_MINIMUM = 'scale · code + minimum';
const TWO_LEVELS = 'd · scale · code - dmin · minimum';

export const STORED_BLOCKS = {
  q8_0: { ...F16, values: 32, bytes: 34, bits: 8, step: 4, scale: HALF, rule: 'scale · code' },
  q4_0: { ...F16, values: 32, bytes: 18, bits: 4, step: 8, scale: HALF, rule: 'scale · (code - 8)' },
  q4_1: { ...F16_PAIR, values: 32, bytes: 20, bits: 4, step: 8, scale: PAIR, rule: WITH_MINIMUM },
  q5_0: { ...F16, values: 32, bytes: 22, bits: 5, step: 8, scale: HALF, rule: 'scale · (code - 16)' },
  q5_1: { ...F16_PAIR, values: 32, bytes: 24, bits: 5, step: 8, scale: PAIR, rule: WITH_MINIMUM },
  q2_k: { ...F16, ...Q2_K, bits: 2, step: 16, scale: MINIMA, rule: TWO_LEVELS },
  q3_k: { ...F16, ...Q3_K, bits: 3, step: 16, scale: SIGNED, rule: 'd · scale · (code - 4)' },
  q4_k: { ...F16_PAIR, values: 256, bytes: 144, bits: 4, step: 8, scale: MINIMA, rule: TWO_LEVELS },
  q5_k: { ...F16_PAIR, values: 256, bytes: 176, bits: 5, step: 8, scale: MINIMA, rule: TWO_LEVELS },
  q6_k: { ...F16, ...Q6_K, bits: 6, step: 8, scale: SIGNED, rule: 'd · scale · (code - 32)' },
  iq4_nl: { ...F16, ...FLOATS, bytes: 18, scale: HALF, rule: 'scale · table[code]' },
  iq4_xs: {
    ...F16,
    ...FLOATS,
    values: 256,
    bytes: 136,
    scale: SIGNED_BYTES,
    rule: 'd · scale · table[code]',
  },
  // A scale in f32 for 128 k's.
  e4m3: { ...E4M3, values: 128, bytes: 128, bits: 8, step: 4, scale: FLOAT, rule: 'scale · float of E4M3' },
  mxfp4: { ...E8M0, ...E2M1, bytes: 17 },
  // An exponent for 32 k's, in another tensor.
  e2m1: { ...E2M1, scaleType: 'tensor', scalesAt: [0], dtype: 'F4', packedAs: 'mxfp4', bytes: 16 },
} as const satisfies Record<string, StoredBlock>;

export type StoredName = keyof typeof STORED_BLOCKS;

/** A tensor of exponents alone: the scales of e2m1. */
export const EXPONENTS = { values: 1, bytes: 1, scalesAt: [0], scaleType: 'e8m0' } as const;
