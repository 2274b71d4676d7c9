// What changes from step to step of a text model, on the device: the flat rows of all running sequences, the tiles that
// attention walks, page tables, and what is sampled how. Layouts as in shaders/lib/batch.wgsl and shaders/lib/choice.wgsl.

import type { Region, Tensor } from '../gpu/tensor.ts';

export interface TextBatch {
  /** Row[rows]: source, position, kv place, set of frequencies. */
  rows: Region;
  /** Rotary frequencies as turns a token, 64-bit fixed point: (low, high) [sets, head dims / 2]. */
  turns: Region;
  /** Tile[tiles]: first row, rows, where the page table begins. */
  tiles: Region;
  /** u32: page tables, one after the other. */
  pages: Region;
  /** u32[sampled]: rows whose logits are wanted. */
  wanted: Region;
  /** Choice[sampled]: sampling parameters. */
  choices: Region;
  /** (token, value) pairs that are added to logits. */
  biases: Region;
  /** (token, count) pairs of what was generated. */
  counts: Region;
  /** u32[slots]: the token last sampled in each slot; stays from step to step. */
  sampled: Region;
  /** u32[sampled]: this step's tokens. */
  ids: Region;
  /** u32[rows], u32[sampled]: which LoRA adapter a row has; read in steps in which some row has one. */
  adapters: { rows: Region; sampled: Region };
  /** [sampled, hidden]: input of the head, where a request asked to keep it. */
  states?: Region;
  /** u32[rows][layers with experts][experts a row goes to], where they are asked for. */
  routed?: Region;
}

/** Words of a Row, a Tile and a Choice. */
export const ROW_WORDS = 4;
export const TILE_WORDS = 4;
export const CHOICE_WORDS = 20;
export const BIAS_WORDS = 2;
export const COUNT_WORDS = 2;

/** A row whose token is the one last sampled in a slot. */
export const FROM_SLOT = 0x80000000;

/** A row without a LoRA adapter. */
export const NO_ADAPTER = 0xffffffff;

/** Rows of one attention tile at most. */
export const TILE_ROWS = 16;

/** Tokens of a KV page. */
export const PAGE_TOKENS = 32;

export type KvFormat = 'f16' | 'f32';

/** Pages of a layer's keys and values; layouts in shaders/kv. */
export interface KvPages {
  format: KvFormat;
  keys: Region;
  values: Region;
}

/** Heads of a layer. */
export interface HeadShape {
  heads: number;
  kvHeads: number;
  /** Dimensions of a head; a multiple of 4. */
  dims: number;
}

/** Throws for heads that kernels cannot share out, or that do not make up `columns`. */
export function assertHeads(
  what: string,
  { heads, kvHeads, dims }: HeadShape,
  columns: number,
  of: number,
): void {
  const isShared = Number.isInteger(heads / kvHeads) && heads >= kvHeads && kvHeads >= 1;
  if (!isShared || dims < 4 || dims % 4 !== 0 || columns !== of * dims)
    throw new Error(`${what}: ${heads} heads and ${kvHeads} for keys, of ${dims}, in ${columns} columns`);
}

/** RMSNorm weights of query and key heads. */
export interface HeadNorms {
  q: Tensor;
  k: Tensor;
  eps: number;
}
