// What a runner is opened with: the options of a model that it depends on, and the part of a checkpoint that it reads.

import type { Checkpoint } from '../../../files/checkpoint/checkpoint.ts';
import type { PackedCache } from '../../platform/platform.ts';
import type { LoraHost } from '../lora/loras.ts';
import type { HostedPart } from '../../weights/hosted-experts.ts';
import type { ResidentPart } from '../../weights/layers.ts';
import type { ChosenQuantization } from '../../weights/quantization.ts';
import type { PageLayout } from '../kv/page-layout.ts';
import type { DraftModelSource } from './runner-drafts.ts';
import type { KvFormat, RankSums } from '../../../kernels/batch.ts';
import type { RunnerMedia } from '../towers/tower-weights.ts';

export interface RunnerOptions {
  quantization: ChosenQuantization;
  /** Limit on the tokens of a request, if memory allows. */
  contextLength: number;
  /** Tokens of all pages together; Infinity: as many as memory allows. */
  totalTokens: number;
  /** Format of keys and values; null or left out: f32 for a model stored and computed in f32, otherwise f16. */
  kvFormat?: KvFormat | null;
  /** The sizes that sequences of a lost device were placed by; null: the sizes follow from the device. */
  kept: KeptSizes | null;
  /** Limit on the sequences that run at once. */
  slots: number;
  /** Rows of the largest step. */
  rows: number;
  /** See RecordedSteps. */
  batchInvariance: boolean;
  /** Limit on the tokens of a draft; 0 or left out: steps compute no drafts. */
  drafts?: number;
  /** Limit on the biases of one choice, including those on its end tokens. */
  biases: number;
  /** Whether each step keeps hidden states for requests that ask for them. */
  hiddenStates: boolean;
  /** Whether each step records the experts that its rows were routed to. */
  routedExperts: boolean;
  /** Log probabilities are computed after temperature, penalties and biases, not from the model's own logits. */
  processedLogprobs: boolean;
  /** Called with the host of LoRAs before pages are allocated, so that LoRAs are loaded first. */
  loras: (host: LoraHost) => Promise<void>;
  /** Cache of quantised weights on disk; null: none. */
  packed: PackedCache | null;
  /** Layers are copied from host memory as they are computed, except this part of them; left out: all weights are on the device. */
  streamed?: ResidentPart | undefined;
  /** Experts are in host memory, and some of them in slots on the device; left out: all of them are on the device. */
  experts?: HostedPart | undefined;
  /** The towers of the model; left out: it takes text only. */
  media?: RunnerMedia | null;
  /** Sums over the devices that divide the matrices; left out: this one has all of them. */
  sums?: RankSums | undefined;
  /** A draft model, whose layers the declaration has behind the model's own (models/text/draft-registry.ts); left out: none. */
  draft?: DraftModelSource | null;
  /** Weights are allocated but not read: for planning, where nothing is computed. */
  unread?: boolean;
}

/** (token, count) pairs of the rows of drafts that a step has room for, beside those of tokens that are generated. */
export const DRAFT_COUNTS = 2 ** 15;

/** Number of slots whose fixed states are copied before a draft, to be taken back where it was wrong. */
export function backedUpSlots(slots: number, { drafts = 0 }: Pick<RunnerOptions, 'drafts'>): number {
  return drafts === 0 ? 0 : slots;
}

/** The part of a checkpoint that a runner needs. */
export type RunnerCheckpoint = Pick<
  Checkpoint,
  'path' | 'architecture' | 'configSource' | 'tensors' | 'shards'
>;

/** Sizes of a runner that its sequences and their schedule depend on: the next device must have equal ones. */
export interface KeptSizes {
  pages: number;
  rows: number;
  layout: PageLayout;
}
