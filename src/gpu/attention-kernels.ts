// Which kernels compute dense attention, where several can.

export const ATTENTION_KERNELS = ['auto', 'flash', 'plain', 'matrix', 'sage', 'sparse'] as const;

/**
 * `auto`: matrix units where the adapter has them, otherwise `flash`. `flash`: tiles with online softmax in f32. `plain`: one query at a time,
 * in f32. `matrix`: matrix units. `sage`: queries and keys in 8 bits. `sparse`: a query sees a part of the keys.
 */
export type AttentionKernels = (typeof ATTENTION_KERNELS)[number];

export type AttentionChoice = { kernels: Exclude<AttentionKernels, 'sparse'> } | SparseAttention;

export interface SparseAttention {
  kernels: 'sparse';
  /** Share of the blocks of keys that queries do not see, from 0 to below 1; with a window it is not read. */
  sparsity: number;
  /** Frames, rows and columns of tokens around a query that it sees; null: the blocks are chosen by their means. */
  window: readonly [frames: number, rows: number, columns: number] | null;
}

export const AUTO_ATTENTION: AttentionChoice = { kernels: 'auto' };
