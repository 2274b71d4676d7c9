// Blocks of codes that GGUF and FP8 files hold, one row each: shaders/sources/<name>.wgsl reads them as the file has them,
// shaders/codes/stored/<name>.wgsl lays them out for shaders/weights/<name>.wgsl. Names in upper case are those of the files.

import type { GridName } from './grids.ts';

export interface StoredBlock {
  /** Weights of a row in one block, and its bytes in the file. */
  values: number;
  bytes: number;
  /** Bytes of the block at which the scales of all of it stand: one or two. */
  scalesAt: readonly [number] | readonly [number, number];
  /** f16, or the exponent of a power of two in a byte; parts: four bits of an f16 above each 12; e4m3: two floats without sign; tensor: another tensor holds the scales. */
  scaleType: 'f16' | 'parts' | 'e4m3' | 'e8m0' | 'tensor';
  /** Lower seven bits of the bytes that are NaN; left out: no code is. */
  nan?: number;
  /** The type's name in files, if it is not the row's in upper case. */
  dtype?: string;
  /** The row whose packed layout it takes; left out: its own. */
  packedAs?: string;
  /** Whether codes are integers; left out: they are. */
  integers?: boolean;
  /** The points that its codes number; left out: codes are no such numbers. */
  grid?: GridName;
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
/** For 256 k's an f16, and planes of four bits for each 32 of them. */
const planes = (count: number) => ({ block: 256, bytes: 2 + 4 * count });
const TRITS = {
  integers: false,
  values: 256,
  bits: 2,
  step: 16,
  scaleType: 'f16',
  scale: { block: 256, bytes: 2 },
  rule: 'scale · (code - 1)',
} as const;
const GRID = { integers: false, values: 256, step: 16 } as const;
const EIGHTS = {
  ...GRID,
  scalesAt: [0],
  scaleType: 'f16',
  rule: 'd · (scale + 1 / 2) / 4 · sign · value of a point',
} as const;
const TERNARY = { ...GRID, rule: 'd · (2 · scale + 1) · (value of a point ± 1 / 8)' } as const;
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
  q1_0: {
    ...F16,
    integers: false,
    values: 128,
    bytes: 18,
    bits: 1,
    step: 16,
    scale: { block: 128, bytes: 2 },
    rule: 'scale · (2 · code - 1)',
  },
  tq1_0: { ...TRITS, bytes: 54, scalesAt: [52], packedAs: 'tq2_0' },
  tq2_0: { ...TRITS, bytes: 66, scalesAt: [64] },
  iq1_s: { ...F16, ...TERNARY, bytes: 50, bits: 1, grid: 'iq1_s', scale: planes(4) },
  // An f16 whose four bits stand above those of scales.
  iq1_m: {
    ...TERNARY,
    bytes: 56,
    scalesAt: [48],
    scaleType: 'parts',
    bits: 1,
    grid: 'iq1_s',
    scale: planes(6),
  },
  iq2_xxs: { ...EIGHTS, bytes: 66, bits: 2, grid: 'iq2_xxs', scale: planes(1) },
  iq2_xs: { ...EIGHTS, bytes: 74, bits: 2, grid: 'iq2_xs', scale: planes(3) },
  iq2_s: { ...EIGHTS, bytes: 82, bits: 2, grid: 'iq2_s', scale: planes(4) },
  iq3_xxs: {
    ...F16,
    ...GRID,
    bytes: 98,
    bits: 3,
    grid: 'iq3_xxs',
    scale: planes(1),
    rule: 'd · (scale + 1 / 2) / 2 · sign · value of a point',
  },
  iq3_s: {
    ...F16,
    ...GRID,
    bytes: 110,
    bits: 3,
    grid: 'iq3_s',
    scale: planes(3),
    rule: 'd · (2 · scale + 1) · sign · value of a point',
  },
  // A scale in f32 for 128 k's.
  e4m3: { ...E4M3, values: 128, bytes: 128, bits: 8, step: 4, scale: FLOAT, rule: 'scale · float of E4M3' },
  mxfp4: { ...E8M0, ...E2M1, bytes: 17 },
  // A float of E4M3 for 16 k's.
  nvfp4: {
    ...FLOATS,
    values: 64,
    bytes: 36,
    scalesAt: [0, 2],
    scaleType: 'e4m3',
    scale: HALF,
    rule: 'float of E4M3 · float of E2M1',
  },
  // An exponent for 32 k's, in another tensor.
  e2m1: { ...E2M1, scaleType: 'tensor', scalesAt: [0], dtype: 'F4', packedAs: 'mxfp4', bytes: 16 },
} as const satisfies Record<string, StoredBlock>;

export type StoredName = keyof typeof STORED_BLOCKS;

/** A tensor of exponents alone: the scales of e2m1. */
export const EXPONENTS = { values: 1, bytes: 1, scalesAt: [0], scaleType: 'e8m0' } as const;
