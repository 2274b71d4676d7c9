// What a step computes of each of its sequences, and what it needs to know of them.

import type { Lora } from '../lora/loras.ts';
import type { SamplingOptions } from '../calls/text-model.ts';
import type { PromptMedia } from '../towers/prompt-media.ts';
import type { SequenceSource } from './batch-writer.ts';

/** Rows of prompts, or of tokens after them. Where both have kernels of their own, a step has rows of one phase. */
export type Phase = 'prompt' | 'decode';

/** Prompts whose rows may see keys and values that are expanded from latents. A row's form follows from its request, and a step has rows of one form. */
export interface Expansion {
  /** Most pages of the sequences of a step. */
  pages: number;
  /** The token of a prompt up to which its rows, behind those that are cached, do so; 0: none do. */
  endOf(prompt: { cached: number; length: number }): number;
}

/** A source and its place: `pages` are the first of its sequence, whose tokens begin behind them. */
export interface SourceText extends SequenceSource {
  readonly ids: readonly number[];
}

export type TokenBias = readonly [token: number, value: number];

export interface SequenceSampling extends Required<SamplingOptions> {
  seedLow: number;
  seedHigh: number;
  frequencyPenalty: number;
  presencePenalty: number;
  bias: readonly TokenBias[];
  /** The biases while fewer than `minTokens` tokens are generated: end tokens are masked. */
  biasBelowMin: readonly TokenBias[];
  /** Number of alternatives reported with each token; null: no log probabilities. */
  logprobs: number | null;
}

/** Settings of a request that a step reads. */
export interface StepRequest {
  /** Generated tokens before which only the length limit ends the sequence. */
  minTokens: number;
  sampling: SequenceSampling;
  /** WGSL source of the request's own function on logits; null: none. */
  processor: string | null;
  /** null: the base model. */
  lora: Lora | null;
  /** Media of the prompt; left out: it has none. */
  media?: PromptMedia;
  /** The text that an encoder reads before the sequence begins; left out: there is none. */
  source?: SourceText;
}

/** Takes what a request reports beside its tokens. */
export interface BlockRecorder {
  readonly wantsStates: boolean;
  readonly wantsRoutes: boolean;
  /** Number of alternatives reported with each prompt token; null: none are requested, or the first choice reports them. */
  readonly promptTop: number | null;
  /** Records the state that the token at a position was sampled from: the last norm's output of the row before. */
  state(position: number, values: Float32Array): void;
  /** Records the experts of the token at a position, layer by layer. */
  route(position: number, experts: Uint32Array): void;
  /** Records the LOGPROB_WORDS of the prompt token at a position. */
  prompt(position: number, words: Uint32Array): void;
}

export interface StepSequence {
  readonly request: StepRequest;
  readonly progress: {
    /** The prompt, then the generated tokens that have been read back. */
    readonly ids: readonly number[];
    readonly promptTokens: number;
    /** How often each token was generated, as (token, count) pairs; null: nothing depends on it. */
    readonly counts: { readonly pairs: Uint32Array } | null;
    readonly computed: number;
    /** The token of the prompt up to which rows see keys and values that are expanded from latents; null: it is not decided yet. */
    readonly expandedEnd: number | null;
  };
  readonly placement: {
    readonly slot: number | null;
    readonly tables: readonly (readonly number[])[];
    readonly passedPages: readonly number[];
  };
  readonly recorder: BlockRecorder | null;
  /** Whether a constraint restricts the next token, which therefore depends on all tokens before it. */
  readonly isConstrained: boolean;
  /** Whether the device needs a mask to sample the next token. */
  readonly needsMask: boolean;
  /** Writes the bits of the tokens that may come next, one word per 32 tokens; all of them once the sequence has ended. */
  writeMask(into: Uint32Array): void;
  /** Ends the sequence because of an error. */
  fail(cause: unknown): void;
}

/** What sampling needs of a row. */
export interface SampledRow extends Pick<
  StepSequence,
  'request' | 'isConstrained' | 'needsMask' | 'writeMask'
> {
  readonly progress: Pick<StepSequence['progress'], 'counts'>;
}

/** Tokens that may follow the known ones, computed in the same step to find out whether they do. */
export interface StepDraft {
  readonly ids: readonly number[];
  /** How the token after each of `ids` is sampled. */
  readonly rows: readonly SampledRow[];
}

export interface StepPart {
  readonly sequence: StepSequence;
  /** Positions `first` to `first + rows - 1` are computed; the last rows are those of the draft. */
  readonly first: number;
  readonly rows: number;
  /** Whether the token after the last row is sampled, and those after the rows before it that a draft follows. */
  readonly samples: boolean;
  /** Left out: the part has none. */
  readonly draft?: StepDraft;
}

/** Number of rows of a draft. */
export function draftedRows({ draft }: Pick<StepPart, 'draft'>): number {
  return draft?.ids.length ?? 0;
}

/** The rows of a part whose next tokens are sampled, in order; they are its last ones. */
export function sampledRows({ sequence, samples, draft }: StepPart): readonly SampledRow[] {
  if (!samples) return [];
  return draft ? [sequence, ...draft.rows] : [sequence];
}

/** The phase of a part's rows, which are all of one where phases differ. */
export function phaseOf({ sequence, first }: StepPart): Phase {
  return first < sequence.progress.promptTokens ? 'prompt' : 'decode';
}

/** Whether a part's rows, all of them, see keys and values that are expanded from latents. */
export function isExpanded({ sequence, first }: StepPart): boolean {
  return first < (sequence.progress.expandedEnd ?? 0);
}
