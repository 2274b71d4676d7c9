// Weight formats, one row each. A format is a row here, shaders/weights/<name>.wgsl, which reads it, and shaders/codes/<name>.wgsl,
// which packs it from a checkpoint's numbers. All formats share one layout: groups of 32 columns, blocks of 32 k's.

/** Types of the numbers that a checkpoint's tensors hold, by the shaders/sources/ that read them. */
export type SourceFormat = 'f32' | 'f16' | 'bf16';

export interface WeightFormat {
  /** Names the two shaders. */
  name: string;
  /** Bits of a code. */
  bits: number;
  /** k's in one step of weights/<name>.wgsl. */
  step: 4 | 8;
  /** `bytes` of scales for each `block` k's of a column; null: codes are numbers. */
  scale: { block: number; bytes: number } | null;
  /** The formula of a weight, for tables. */
  rule: string;
  /** Types that codes/<name>.wgsl packs it from. */
  sources: readonly SourceFormat[];
  /** How it is packed: numbers are stored as they are where the types agree, else widened or rounded, or fitted to codes block by block. */
  packing: 'number' | 'quantise';
  /** Tiles of more than 16 rows gain on CPUs. int8 gains nothing by them, and compiles half as long again. */
  tallTiles: boolean;
}

const ALL_SOURCES = ['f32', 'f16', 'bf16'] as const;
const NUMBERS = { step: 4, scale: null, rule: 'code', sources: ALL_SOURCES, packing: 'number' } as const;
const CODES = { sources: ALL_SOURCES, packing: 'quantise', scale: { block: 32, bytes: 4 } } as const;

export const FORMATS = {
  f32: { ...NUMBERS, name: 'f32', bits: 32, tallTiles: true },
  f16: { ...NUMBERS, name: 'f16', bits: 16, tallTiles: true },
  bf16: { ...NUMBERS, name: 'bf16', bits: 16, tallTiles: true },
  int8: { ...CODES, name: 'int8', bits: 8, step: 4, rule: 'scale · code', tallTiles: false },
  int4: { ...CODES, name: 'int4', bits: 4, step: 8, rule: 'scale · (code - 8)', tallTiles: true },
} as const satisfies Record<string, WeightFormat>;

export type FormatName = keyof typeof FORMATS;

/** Names of the formats that weights are quantised to while they are loaded, most bits first. */
export type QuantizedFormat = {
  [Name in FormatName]: (typeof FORMATS)[Name]['packing'] extends 'quantise' ? Name : never;
}[FormatName];

export const QUANTIZED_FORMATS = Object.values(FORMATS)
  .filter(({ packing }) => packing === 'quantise')
  .sort((a, b) => b.bits - a.bits)
  .map(({ name }) => name as QuantizedFormat);

/** Types of a checkpoint's tensors that are read, by their names in safetensors files. */
export const SOURCES: Readonly<Record<string, SourceFormat>> = { F32: 'f32', F16: 'f16', BF16: 'bf16' };

/** "F32, F16 and BF16", for messages. */
export function sourceNames(): string {
  const names = Object.keys(SOURCES);
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;
}

/** Bits of a weight with its share of the scales. */
export function bitsPerWeight({ bits, scale }: WeightFormat): number {
  return bits + (scale === null ? 0 : (8 * scale.bytes) / scale.block);
}

/** k's of a block, for all formats. */
const BLOCK = 32;
/** Columns of a group. */
const GROUP = 32;

/** Bytes of a group's codes and scales over `blocks` blocks of k's. */
export function groupBytes({ bits, scale }: WeightFormat, blocks: number): { codes: number; scales: number } {
  return {
    codes: (blocks * GROUP * BLOCK * bits) / 8,
    scales: scale === null ? 0 : ((blocks * BLOCK) / scale.block) * GROUP * scale.bytes,
  };
}
