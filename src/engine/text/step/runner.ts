// Interface of a text model on a device. A runner ends with its device; sequences and the schedule outlive it.

import type { Checkpoint } from '../../../files/checkpoint/checkpoint.ts';
import type { Device } from '../../../gpu/device.ts';
import type { KvFormat } from '../../../kernels/batch.ts';
import type { OnKernels } from '../../tuning/compile.ts';
import type { Tuned, TuneOptions } from '../../tuning/tune.ts';
import type { PackedCache } from '../../platform/platform.ts';
import type { LoraHost } from '../lora/loras.ts';
import type { ResidentPart } from '../../weights/layers.ts';
import type { ChosenQuantization } from '../../weights/quantization.ts';
import type { PageCleaner } from '../kv/kv-pages.ts';
import type { PageLayout } from '../kv/page-layout.ts';
import type { PageMover, PageMoves } from '../kv/page-mover.ts';
import type { StateMover } from '../kv/state-mover.ts';
import type { RunnerMedia } from '../towers/tower-weights.ts';
import type { Towers } from '../towers/towers.ts';
import type { StepPart } from './step-part.ts';

export interface RunnerOptions {
  quantization: ChosenQuantization;
  /** Limit on the tokens of a request, if memory allows. */
  contextLength: number;
  /** Tokens of all pages together; Infinity: as many as memory allows. */
  totalTokens: number;
  /** The sizes that sequences of a lost device were placed by; null: the sizes follow from the device. */
  kept: KeptSizes | null;
  /** Limit on the sequences that run at once. */
  slots: number;
  /** Rows of the largest step. */
  rows: number;
  /** See RecordedSteps. */
  batchInvariance: boolean;
  /** Limit on the biases of one choice, including those on its end tokens. */
  biases: number;
  /** Whether each step keeps hidden states for requests that ask for them. */
  hiddenStates: boolean;
  /** Whether each step records the experts that its rows were routed to. */
  routedExperts: boolean;
  /** Log probabilities are computed after temperature, penalties and biases, not from the model's own logits. */
  processedLogprobs: boolean;
  /** Called with the host of LoRA adapters before pages are allocated, so that adapters are loaded first. */
  loras: (host: LoraHost) => Promise<void>;
  /** Cache of quantised weights on disk; null: none. */
  packed: PackedCache | null;
  /** Layers are copied from host memory as they are computed, except this part of them; left out: all weights are on the device. */
  streamed?: ResidentPart | undefined;
  /** The towers of the model; left out: it takes text only. */
  media?: RunnerMedia | null;
  /** Weights are allocated but not read: for planning, where nothing is computed. */
  unread?: boolean;
}

/** The part of a checkpoint that a runner needs. */
export type RunnerCheckpoint = Pick<
  Checkpoint,
  'path' | 'architecture' | 'configSource' | 'tensors' | 'shards'
>;

/** Sizes of a runner that its sequences and their schedule depend on: the next device must have equal ones. */
export type KeptSizes = Pick<Runner, 'pages' | 'rows' | 'layout'>;

export interface Runner {
  device: Device;
  pages: number;
  /** Rows of the largest step. */
  rows: number;
  /** Rows of the largest step of tokens after prompts, which has no rows of prompts; null: steps may have both. */
  decodeRows: number | null;
  contextLength: number;
  parameters: number;
  /** See TextModelInfo. */
  weightFormats: readonly string[];
  /** Sentences about the weights that are not on the device; none: all are. */
  streaming: readonly string[];
  /** Compiles every kernel before the first step. */
  warmUp(onProgress: OnKernels): Promise<void>;
  /** Times the variants of kernels for steps of each capacity; before the first step. */
  tune(options: Omit<TuneOptions, 'step'>): Promise<Tuned[]>;
  pageCleaner: PageCleaner;
  /** Copies pages and fixed states within the device and from host memory, before the steps that are submitted later. */
  movePages(moves: PageMoves): void;
  /** Returns the bytes of pages after the steps submitted so far. */
  readPages: PageMover['read'];
  /** Returns the bytes of copies of fixed states after the steps submitted so far. */
  readStates: StateMover['read'];
  layout: PageLayout;
  /** Bytes of a page in all lanes. */
  pageBytes: number;
  /** Copies of fixed states that the device has room for; 0: no layer has one. */
  copies: number;
  /** Bytes of a copy. */
  copyBytes: number;
  /** Bytes of the fixed states of all slots, without copies. */
  stateBytes: number;
  kvFormat: KvFormat;
  /** Towers of the model; null: it takes text only. */
  towers: Towers | null;
  /** Compiles a request's own function on logits. Throws bad_request. */
  checkProcessor(source: string): Promise<void>;
  /** Submits a step's forward pass, and its sampling too unless `drawLater` is set; then sampling waits for `draw`. */
  launch(parts: readonly StepPart[], options?: { drawLater?: boolean }): Launched;
}

export interface Launched {
  /** Resolves once everything is submitted, before which nothing else may be; null: it is. Throws what reading weights from files throws. */
  submitted: Promise<void> | null;
  /** Samples, if that has not been done, and resolves with the sampled tokens. */
  draw(): Promise<Drawn>;
  /** Called instead of `draw` to drop a step whose sampling was postponed. */
  drop(): void;
}

/** The results of a step, by sampled row. */
export interface Drawn {
  ids: Uint32Array;
  /** LOGPROB_WORDS words for each sampled row; empty if no row asked for log probabilities. */
  logprobs: Uint32Array;
}
