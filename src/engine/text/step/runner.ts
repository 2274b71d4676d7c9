// Interface of a text model on a device. A runner ends with its device; sequences and the schedule outlive it.

import type { Checkpoint } from '../../../files/checkpoint/checkpoint.ts';
import type { Device } from '../../../gpu/device.ts';
import type { KvFormat } from '../../../kernels/batch.ts';
import type { PackedCache } from '../../platform.ts';
import type { AdapterHost } from '../adapters.ts';
import type { ChosenQuantization } from '../../weights/quantization.ts';
import type { PageCleaner } from '../cache/kv-pages.ts';
import type { PageMover } from '../cache/page-mover.ts';
import type { Part } from '../step-plan.ts';

export interface RunnerOptions {
  quantization: ChosenQuantization;
  /** Tokens a request may have, if memory allows. */
  contextLength: number;
  /** Tokens of all pages together; Infinity: as memory allows. */
  totalTokens: number;
  /** Pages there must be; null: as many as are of use and fit. */
  pages: number | null;
  /** Sequences at once. */
  slots: number;
  /** Rows of the largest step. */
  rows: number;
  /** Most biases of one choice, those on its end tokens included. */
  biases: number;
  /** Whether each step keeps hidden states for requests that ask for them. */
  hiddenStates: boolean;
  /** Whether each step keeps which experts its rows went to. */
  routedExperts: boolean;
  /** Log probabilities are of what is sampled from, not of what the model says. */
  processedLogprobs: boolean;
  /** Called with the host of LoRA adapters before pages are allocated, so that adapters are loaded first. */
  adapters: (host: AdapterHost) => Promise<void>;
  /** Cache of quantised weights on disk; null: none. */
  packed: PackedCache | null;
  /** Weights get their bytes and are not read: for planning, where nothing is computed. */
  unread?: boolean;
}

/** The part of a checkpoint that a runner needs. */
export type RunnerCheckpoint = Pick<Checkpoint, 'path' | 'architecture' | 'tensors' | 'shards'>;

export interface Runner {
  device: Device;
  pages: number;
  /** Rows of the largest step. */
  rows: number;
  contextLength: number;
  parameters: number;
  /** Compiles every kernel by running it once. */
  warmUp(onProgress: (done: number, total: number) => void): Promise<void>;
  pageCleaner: PageCleaner;
  /** Copies within the device and from outside it, ahead of the steps submitted later. */
  movePages: PageMover['move'];
  /** Bytes of pages as they are after the steps submitted so far. */
  readPages: PageMover['read'];
  /** Bytes of a page in all layers. */
  pageBytes: number;
  kvFormat: KvFormat;
  /** Compiles a request's own function on logits. Throws bad_request. */
  checkProcessor(source: string): Promise<void>;
  /** Submits a step's forward pass, and its sampling too unless `drawLater` says that it waits for `draw`. */
  launch(parts: readonly Part[], options?: { drawLater?: boolean }): Launched;
}

export interface Launched {
  /** Resolves with what was sampled. */
  draw(): Promise<Drawn>;
  /** Called in place of `draw` where sampling was to wait and is not wanted any more. */
  drop(): void;
}

/** The results of a step by sampled row, in order. */
export interface Drawn {
  ids: Uint32Array;
  /** LOGPROB_WORDS words for each sampled row; empty where no row asked for log probabilities. */
  logprobs: Uint32Array;
}
