// How the rows of a tape are computed.

import type { ActivationDtype, AttentionKernels } from './adapter-profile.ts';
import type { Arena } from './arena.ts';
import type { Region, StepReuse } from './tensor.ts';

export interface TapeOptions {
  /** Launchers use plain f32 kernels, which are the reference. */
  plain?: boolean;
  /** u32: LoRA adapter of each row, by the name of the rows; null: no row has one, and launchers record nothing for adapters. */
  rowLoras?: Readonly<Record<string, Region>> | null;
  /** Names of rows of a decode step, whose kernels may sum in another order than those of other rows; left out: none. See kernels/matvec.ts. */
  decodes?: readonly string[];
  /**
   * Whether products of decode rows have the kernels of rows of prompts, whose sums have another order. Attention keeps its own, because each
   * decode row reads a context of its own.
   */
  promptProducts?: boolean;
  /** See AdapterProfile; left out: the profile's. */
  activations?: ActivationDtype;
  /** Kernels of dense attention; left out: `auto`. Plain tapes have plain ones. */
  attention?: AttentionChoice;
  /** Records blocks of a denoiser so that some steps can take their result from an earlier one; left out: all steps compute all blocks. */
  reuse?: StepReuse | null;
  /** Memory of intermediates; left out: the device's arena, which any other tape overwrites between two segments. */
  arena?: Arena;
}

export type AttentionChoice = { kernels: Exclude<AttentionKernels, 'sparse'> } | SparseAttention;

export interface SparseAttention {
  kernels: 'sparse';
  /** Share of the blocks of keys that queries do not see, from 0 to below 1; with a window it is not read. */
  sparsity: number;
  /** Frames, rows and columns of tokens around a query that it sees; null: the blocks are chosen by their means. */
  window: readonly [frames: number, rows: number, columns: number] | null;
}

/** Devices that divide the tokens of sequences: those that attend to each other gather keys and values, or divide heads, keys, or both. */
export interface TokenRanks {
  /** Number of this device, from 0. */
  readonly rank: number;
  /** Returns the tokens of each device, of a sequence of so many; each has whole groups of `unit` tokens. Throws where there are too few. */
  countsOf(tokens: number, unit: number): readonly number[];
  /** Returns the bytes of all devices in their order. */
  allGather(own: ArrayBuffer): Promise<readonly ArrayBuffer[]>;
  /** Devices with numbers that follow each other, which attend with a share of the heads each, and exchange all tokens of theirs before and after; null: each has all heads. */
  readonly heads: HeadRanks | null;
  /** Groups of so many devices as divide heads, whose keys and values go around; null: one group, which has all keys. */
  readonly ring: RingRanks | null;
}

export interface HeadRanks {
  readonly rank: number;
  readonly ranks: number;
  /** Gives each device bytes of its own, and returns what all give to this one. */
  allToAll(parts: readonly ArrayBuffer[]): Promise<readonly ArrayBuffer[]>;
}

export interface RingRanks {
  readonly rank: number;
  readonly ranks: number;
  /** Gives bytes to the next device, and returns those of the one before. */
  send(own: ArrayBuffer): Promise<ArrayBuffer>;
}

/** Sequences whose tokens are divided among devices. */
export interface TokenSplit extends TokenRanks {
  /** Tokens of each device, for each sequence in the order in which they are joined; none: nothing is divided. */
  readonly counts: readonly (readonly number[])[];
}

/** Devices that have parts of the same matrices. */
export interface PartSums {
  /** Returns the sums of all devices' numbers, f32, with equal bits on each device. */
  allReduce(own: ArrayBuffer): Promise<ArrayBuffer>;
}

export const AUTO_ATTENTION: AttentionChoice = { kernels: 'auto' };

/** Which rows of a tape are decode rows, and the kernels of its rows. */
export type RowKinds = Pick<TapeOptions, 'decodes' | 'promptProducts' | 'attention'>;
