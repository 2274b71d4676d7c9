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

/** Tokens of sequences that attend to each other, divided among devices. */
export interface TokenSplit {
  /** Number of this device, from 0. */
  readonly rank: number;
  /** Tokens of each device. */
  readonly counts: readonly number[];
  /** Returns the bytes of all devices in their order. */
  allGather(own: ArrayBuffer): Promise<readonly ArrayBuffer[]>;
}

/** Devices that have parts of the same matrices. */
export interface PartSums {
  /** Returns the sums of all devices' numbers, f32, with equal bits on each device. */
  allReduce(own: ArrayBuffer): Promise<ArrayBuffer>;
}

export const AUTO_ATTENTION: AttentionChoice = { kernels: 'auto' };

/** Which rows of a tape are decode rows, and the kernels of its rows. */
export type RowKinds = Pick<TapeOptions, 'decodes' | 'promptProducts' | 'attention'>;
