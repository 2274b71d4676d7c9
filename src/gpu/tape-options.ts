// How the rows of a tape are computed.

import type { ActivationDtype } from './adapter-profile.ts';
import type { Arena } from './arena.ts';
import type { AttentionChoice } from './attention-kernels.ts';
import type { Region } from './tensor.ts';

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
  /** Memory of intermediates; left out: the device's arena, which any other tape overwrites between two segments. */
  arena?: Arena;
}

/** Which rows of a tape are decode rows, and their kernels. */
export type RowKinds = Pick<TapeOptions, 'decodes' | 'promptProducts'>;
