// Weight formats, one row each. A format is a row here, shaders/weights/<name>.wgsl, which reads it, and what packs it: shaders/codes/<name>.wgsl
// from a checkpoint's numbers, or shaders/codes/stored/<name>.wgsl from the codes that a file holds (stored-blocks.ts); codes whose scales and
// zero points other tensors hold are laid out by place-codes.ts and place-scales.ts. All formats share one layout: groups of 32 columns,
// blocks of 32 k's.

import { CODED_FORMATS, type CodedName } from './coded-formats.ts';
import type { GridName } from './grids.ts';
import { EXPONENTS, STORED_BLOCKS, type StoredBlock, type StoredName } from './stored-blocks.ts';

/** Types of the numbers that a checkpoint's tensors hold. */
export type NumberSource = 'f32' | 'f16' | 'bf16';

/** Types of a checkpoint's tensors, by the shaders/sources/ that read them. */
export type SourceFormat = NumberSource | StoredName | CodedName;

/** Types of tensors that hold the scales of others. */
export type ScaleSource = NumberSource | 'e8m0';

export interface WeightFormat {
  /** Names the shaders. */
  name: string;
  /** Bits of a code. */
  bits: number;
  /** k's in one step of weights/<name>.wgsl. */
  step: 4 | 8 | 16;
  /** `bytes` of scales for each `block` k's of a column; null: codes are numbers. */
  scale: { block: number; bytes: number } | null;
  /** The formula of a weight, for tables. */
  rule: string;
  /** Types that it is packed from. */
  sources: readonly SourceFormat[];
  /**
   * How it is packed: numbers are stored as they are where the types agree, else widened or rounded; or fitted to codes block by block;
   * codes that a file holds are laid out anew, bit for bit.
   */
  packing: 'number' | 'quantise' | 'stored';
  /** Codes are integers of at most 8 bits, as shaders/integers/<name>.wgsl reads them, so that products may be those of integers. */
  integers: boolean;
  /** The points that codes number; left out: they are no such numbers. */
  grid?: GridName;
  /** Tiles of more than 16 rows gain on CPUs. int8 gains nothing by them, and compiles half as long again. */
  tallTiles: boolean;
}

const NUMBER_SOURCES = ['f32', 'f16', 'bf16'] as const;
const STORED_NAMES = Object.keys(STORED_BLOCKS) as StoredName[];
/** Block formats whose scales stand in the blocks, so that a tensor alone gives its numbers. */
const WHOLE_NAMES = STORED_NAMES.filter((name) => STORED_BLOCKS[name].scaleType !== 'tensor');
const NUMBERS = {
  step: 4,
  integers: false,
  scale: null,
  rule: 'code',
  sources: NUMBER_SOURCES,
  packing: 'number',
} as const;
const ALL_SOURCES = [...NUMBER_SOURCES, ...WHOLE_NAMES];
const CODES = {
  integers: true,
  sources: ALL_SOURCES,
  packing: 'quantise',
  scale: { block: 32, bytes: 4 },
} as const;

type StoredFormat = WeightFormat & { packing: 'stored' };
/** Rows that have a packed layout of their own. */
export type PackedName = {
  [Name in StoredName]: (typeof STORED_BLOCKS)[Name] extends { packedAs: string } ? never : Name;
}[StoredName];

function packedAs(name: StoredName): PackedName {
  const { packedAs: other = name }: StoredBlock = STORED_BLOCKS[name];
  return other as PackedName;
}

const STORED_FORMATS = Object.fromEntries(
  STORED_NAMES.filter((name) => packedAs(name) === name).map((name): [StoredName, StoredFormat] => {
    const { bits, step, scale, rule, integers = true, grid }: StoredBlock = STORED_BLOCKS[name];
    const sources = STORED_NAMES.filter((other) => packedAs(other) === name);
    const tallTiles = bits < 8;
    const points = grid === undefined ? {} : { grid };
    return [
      name,
      { name, bits, step, scale, rule, integers, sources, packing: 'stored', tallTiles, ...points },
    ];
  }),
) as Record<PackedName, StoredFormat>;

const CODED_NAMES = Object.keys(CODED_FORMATS) as CodedName[];

const CODED = Object.fromEntries(
  CODED_NAMES.map((name): [CodedName, StoredFormat] => {
    const row = CODED_FORMATS[name];
    return [name, { ...row, name, sources: [name], tallTiles: row.bits < 8, packing: 'stored' }];
  }),
) as Record<CodedName, StoredFormat>;

export const FORMATS = {
  // Codes that a file holds become numbers where parts of one matrix are stored in ways that no other format holds together.
  f32: { ...NUMBERS, name: 'f32', bits: 32, tallTiles: true, sources: ALL_SOURCES },
  f16: { ...NUMBERS, name: 'f16', bits: 16, tallTiles: true, sources: ALL_SOURCES },
  bf16: { ...NUMBERS, name: 'bf16', bits: 16, tallTiles: true },
  int8: { ...CODES, name: 'int8', bits: 8, step: 4, rule: 'scale · code', tallTiles: false },
  int4: { ...CODES, name: 'int4', bits: 4, step: 8, rule: 'scale · (code - 8)', tallTiles: true },
  ...STORED_FORMATS,
  ...CODED,
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

/** Begins the names of types whose blocks run across the ends of rows: such weights become numbers. */
const FLAT = 'FLAT_';

export const isFlat = (dtype: string): boolean => dtype.startsWith(FLAT);

/** Types of a checkpoint's tensors that are read, by their names in safetensors and GGUF files. */
export const SOURCES: Readonly<Record<string, SourceFormat>> = {
  F32: 'f32',
  F16: 'f16',
  BF16: 'bf16',
  ...Object.fromEntries(STORED_NAMES.map((name) => [dtypeOf(name), name])),
  ...Object.fromEntries(WHOLE_NAMES.map((name) => [FLAT + dtypeOf(name), name])),
  ...Object.fromEntries(CODED_NAMES.map((name) => [name.toUpperCase(), name])),
};

function dtypeOf(name: StoredName): string {
  const { dtype = name.toUpperCase() }: StoredBlock = STORED_BLOCKS[name];
  return dtype;
}

/** The type of the exponents that a tensor holds for the codes of another. */
const EXPONENTS_DTYPE = 'F8_E8M0';

/** The source of a tensor's type, weights or scales; undefined: it is not read. */
export function sourceOf(dtype: string): SourceFormat | ScaleSource | undefined {
  return dtype === EXPONENTS_DTYPE ? 'e8m0' : SOURCES[dtype];
}

/** The format of matrices that stay as a source holds them. */
export function formatOfSource(source: SourceFormat): WeightFormat {
  return FORMATS[
    source in STORED_BLOCKS ? packedAs(source as StoredName) : (source as NumberSource | CodedName)
  ];
}

type Block = Pick<StoredBlock, 'values' | 'bytes' | 'scalesAt' | 'scaleType' | 'nan' | 'grid'>;

/** Blocks in which a source holds codes, or scales; null: it holds numbers. */
export function storedBlock(source: SourceFormat | ScaleSource): Block | null {
  if (source === 'e8m0') return EXPONENTS;
  return source in STORED_BLOCKS ? STORED_BLOCKS[source as StoredName] : null;
}

/** "F32, F16 and BF16", for messages about safetensors files. */
export function sourceNames(): string {
  const names = NUMBER_SOURCES.map((name) => name.toUpperCase());
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
