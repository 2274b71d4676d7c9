// Declaration of the GGUF files of an architecture: how their metadata reads as a config.json, and their tensors under the names of its page.

import type { GgufTensor } from './gguf.ts';
import type { GgufKeys } from './keys.ts';

/** A GGUF file, or the files of a split one, as conversions read it. */
export interface GgufModel {
  keys: GgufKeys;
  /** general.architecture, with which the keys of the model begin. */
  architecture: string;
  tensors: ReadonlyMap<string, GgufTensor>;
  /** The values of a small tensor stored as F32. Throws bad_checkpoint for any other. */
  floats(name: string): Promise<Float32Array>;
}

/** A tensor as a page reads it: all rows of a stored one, or some of them. A tensor of three dimensions has rows of all its matrices. */
export interface GgufPart {
  /** The page's name. */
  name: string;
  shape: readonly number[];
  /** The first row; left out: 0. */
  firstRow?: number;
  /** Heads whose rows are stored in pairs of the two halves of a head; left out: rows are stored in their order. */
  pairedHeads?: number;
  /** Heads whose keys and values stand beside their queries on the page, and that are stored kind by kind; left out: rows are stored in their order. */
  groupedHeads?: { heads: number; kvHeads: number };
  /** Number that was added to every value before it was stored; left out: 0. */
  added?: number;
  /** Whether values are stored as log(1 + e^value). */
  isSoftplus?: boolean;
  /** Channels of an image whose pixels stand channel by channel in a stored row, and pixel by pixel on the page; left out: columns are stored in their order. */
  planes?: number;
  /** Groups of rows that are stored one after another, and whose rows take turns on the page; left out: rows are stored in their order. */
  interleaved?: number;
}

export interface GgufClass {
  /** general.architecture */
  name: string;
  /** Classes of models that such files hold. */
  classNames: readonly string[];
  /**
   * Names in the file of what keys of config.json are made of, for messages: metadata, or tensors. Left out: those that all decoders share.
   */
  keys?: Readonly<Record<string, string>>;
  /** The class that computes it, and its config.json. */
  read(model: GgufModel): Promise<{ className: string; config: Record<string, unknown> }>;
  /** Parts of a tensor; none for a tensor that only `read` reads; null: the architecture has no such tensor. */
  parts(
    tensor: Pick<GgufTensor, 'name' | 'shape'>,
    config: Readonly<Record<string, unknown>>,
  ): readonly GgufPart[] | null;
}
