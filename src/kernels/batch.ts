// The batch of a step on the device: the flat rows of all running sequences, the table of sequences, the tiles that attention
// processes, page tables, and sampling parameters. Layouts are those of shaders/lib/batch.wgsl and shaders/lib/choice.wgsl.

import type { PartSums } from '../gpu/tape-options.ts';
import type { Region, Tensor } from '../gpu/tensor.ts';

/** One device of several that compute the same steps. */
export interface RankSums extends PartSums {
  /** Number of this device, from 0. */
  readonly rank: number;
}

export interface TextBatch {
  /** Sums over the devices that divide the matrices; left out: this one has all of them. */
  sums?: RankSums | undefined;
  /** Row[rows]: source, position, set of rotary frequencies or token type, sequence. */
  rows: Region;
  /** (height, width)[rows] of models whose rows have positions of three parts. */
  planes?: Region;
  /** f32 rows of embeddings that can replace a token's; as wide as the model's rows, including padding. */
  inputs?: Region;
  /** f32 rows that are added to the embeddings of the rows, each to its own; as `inputs`, in whose place they are. */
  added?: Region;
  /** f32 rows that are added to the states after each of the first layers, for rows that take input embeddings; as `inputs`. */
  deepInputs?: readonly Region[];
  /** Rotary frequencies as turns per token, 64-bit fixed point: (low, high) [sets, dims / 2 of all rope tables]. */
  turns: Region;
  /** Tile[tiles]: first row, rows, beginning of the page table, token of the first row, last token that all rows see. */
  tiles: Region;
  /** Whether any tile has a span; otherwise attention ignores the tiles' last tokens. */
  spans: boolean;
  /** The same tiles for attention to the sequences' sources, all of whose tokens each row sees; left out: the model reads none. */
  sourceTiles?: Region;
  /** Sequence[sequences]: first row, rows, cached tokens, slot. */
  sequences: Region;
  /** (first row, rows)[sampled]: rows whose mean is the vector of a text. */
  pooled: Region;
  /** u32[sampled]: rows whose logits are computed. */
  wanted: Region;
  /** Choice[sampled]: sampling parameters. */
  choices: Region;
  /** (token, value) pairs that are added to logits. */
  biases: Region;
  /** (token, count) pairs of the generated tokens. */
  counts: Region;
  /** u32[slots]: the token last sampled in each slot; persists from step to step. */
  sampled: Region;
  /** u32[sampled]: this step's tokens. */
  ids: Region;
  /** u32[rows], u32[sampled]: LoRA of each row; read in steps in which any row has one. */
  adapters: { rows: Region; sampled: Region };
  /** [sampled, hidden]: input of the head, if a request asks for it. */
  states?: Region;
  /** u32[rows][layers with experts][experts per row]: routed experts, if the model was opened to record them. */
  routed?: Region;
}

/** A step's data of which kernels read the given members only; `unused` stands for the others. */
export function partialBatch(unused: Region, given: Partial<TextBatch>): TextBatch {
  return {
    ...{ rows: unused, turns: unused, tiles: unused, spans: false, sequences: unused, pooled: unused },
    ...{ wanted: unused, choices: unused, biases: unused, counts: unused, sampled: unused, ids: unused },
    adapters: { rows: unused, sampled: unused },
    ...given,
  };
}

/** The batch for attention of its rows to the sources of their sequences. */
export function towardsSources(batch: TextBatch): TextBatch {
  if (!batch.sourceTiles) throw new Error('the sequences of the batch have no sources');
  return { ...batch, tiles: batch.sourceTiles, spans: true };
}

/** 32-bit words of an entry of each table. */
export const ROW_WORDS = 4;
export const TILE_WORDS = 5;
export const SEQUENCE_WORDS = 4;
export const POOL_WORDS = 2;
export const PLANE_WORDS = 2;
export const CHOICE_WORDS = 20;
export const BIAS_WORDS = 2;
export const COUNT_WORDS = 2;

/** Source of a row whose token is the one last sampled in a slot. */
export const FROM_SLOT = 0x80000000;

/** Source of a row that is one of the batch's input embeddings. */
export const FROM_INPUT = 0x40000000;
/** Factor of a token's type beside a row's set of rotary frequencies. */
export const TOKEN_TYPE = 2 ** 24;

/** LoRA number of a row without a LoRA. */
export const NO_LORA = 0xffffffff;

/** Limit on the rows of one attention tile. */
export const TILE_ROWS = 16;

/** Tokens of a KV page. */
export const PAGE_TOKENS = 32;

/** Storage of keys and values: as floats, or in codes with a factor for each token and head (kernels/kv-format.ts). */
export type KvFormat = 'f16' | 'f32' | 'fp8_e4m3' | 'int8' | 'int4';

/** Page table of a step, for layers of one kind. */
export interface PageTable {
  /** u32: page tables of the sequences, one after the other. */
  pages: Region;
  /** u32[rows]: page · PAGE_TOKENS + position in the page, where a row's key and value are written. */
  places: Region;
}

/** Pages of a layer's keys and values; layouts in shaders/kv. */
export interface KvPages {
  kind: 'kv';
  table: PageTable;
  format: KvFormat;
  keys: Region;
  /** null: values are the first dimensions of the keys. */
  values: Region | null;
}

/** Keys and values of one step, in the layouts of pages. */
export interface StepPages extends Omit<KvPages, 'keys' | 'values'> {
  keys: Tensor;
  values: Tensor;
}

/** Fixed states of a layer: a vector of f32 values for each slot. */
export interface StateSlots {
  kind: 'slot';
  /** [slots][values of a state] */
  values: Region;
}

/** Storage of a layer's state between steps. */
export type LayerStore = KvPages | StateSlots;

/** Returns the pages of layer `i`. */
export function kvOf(layers: readonly LayerStore[], i: number): KvPages {
  const store = layers[i];
  if (store?.kind !== 'kv') throw new Error(`layer ${i} has no KV pages but ${store?.kind ?? 'nothing'}`);
  return store;
}

/** Returns the slots of layer `i`. */
export function slotsOf(layers: readonly LayerStore[], i: number): StateSlots {
  const store = layers[i];
  if (store?.kind !== 'slot') throw new Error(`layer ${i} has no slots but ${store?.kind ?? 'nothing'}`);
  return store;
}

/** Heads of a layer. */
export interface HeadShape {
  heads: number;
  kvHeads: number;
  /** Dimensions of a head; even. Attention and pages keep heads whose dimensions are a multiple of 4, the others with zeros behind. */
  dims: number;
  /** Dimensions of a value, which are the first of its key where pages have no values; left out: dims. */
  valueDims?: number;
  /** Factor of the scores; left out: 1 / sqrt(dims). */
  scale?: number;
  /** The first dimensions of a head that are rotated; even. Left out: all. */
  rotated?: number;
  /** Dimensions that a rotation turns together: d and d + rotated / 2, or 2 · d and 2 · d + 1. Left out: half. */
  pairs?: 'half' | 'adjacent';
  /**
   * Order of a row's heads: all queries, then keys, then values; queries, values, keys; or each key's queries, the key and its value. Left out:
   * kinds.
   */
  order?: 'kinds' | 'values-first' | 'groups';
  /**
   * Columns of keys and of values; `one`: keys before their norm and rotation are the values, too; `none`: the pages of another layer are
   * read. Left out: both.
   */
  kv?: 'both' | 'one' | 'none';
  /** Each query head is followed by a gate of as many dimensions. */
  gated?: boolean;
  /** Growth of queries with their position; left out: none. */
  growth?: QueryGrowth;
  /** Bias of the scores by the distance of a key; left out: none. */
  alibi?: Alibi;
}

/**
 * ALiBi: the score of a key `distance` tokens before the query is reduced by slope · distance. Slopes of the heads up to a power of two n are
 * scale · 2^(-most · h / n), h from 1; those of further heads lie between them.
 */
export interface Alibi {
  most: number;
  scale: number;
}

/** Queries are multiplied by 1 + beta · ln(1 + ⌊(position + first) / length⌋). */
export interface QueryGrowth {
  beta: number;
  /** Number of tokens after which queries grow. */
  length: number;
  /** Left out: 0. */
  first?: number;
}

/** Throws for heads that kernels cannot divide, or that do not add up to `columns`. */
export function assertHeads(
  what: string,
  { heads, kvHeads, dims }: HeadShape,
  columns: number,
  of: number,
): void {
  const isShared = Number.isInteger(heads / kvHeads) && heads >= kvHeads && kvHeads >= 1;
  if (!isShared || dims < 2 || dims % 2 !== 0 || columns !== of * dims)
    throw new Error(`${what}: ${heads} heads and ${kvHeads} for keys, of ${dims}, in ${columns} columns`);
}

/** RMSNorm weights of query and key heads; null: the norms have none. */
export interface HeadNorms {
  q: Tensor | null;
  k: Tensor | null;
  eps: number;
  /** Values are normalized, too, without weights. */
  values?: boolean;
  /** Weights are applied behind the rotation, not before it. */
  turned?: boolean;
}
