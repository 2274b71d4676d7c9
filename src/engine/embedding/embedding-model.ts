// The interface of an embedding model: texts in, vectors out, or the scores of a model that classifies. All of it is plain data that can be sent
// to another thread.

import type { AdapterSummary } from '../../gpu/adapter.ts';
import type { TextOutputs } from '../../models/text/blocks/outputs.ts';
import type { Quantization } from '../opening/open-event.ts';
import type { MODEL_SETTINGS } from '../../options/model.ts';
import type { ForModels, SettingValues } from '../../options/setting.ts';

export interface EmbeddingModelOptions extends SettingValues<ForModels<typeof MODEL_SETTINGS, 'embedding'>> {
  /** Path of a model folder, or hub id. */
  model: string;
}

/** Two texts that a model reads together: a query and a document that is judged by it. */
export interface TextPair {
  text: string;
  pair: string;
}

export interface EmbeddingRequest {
  /** Up to 2048 texts, pairs of them, or lists of token ids, which get no special tokens. */
  inputs: (string | number[] | TextPair)[];
  /** Returns only the first `dimensions` values, scaled to length one again. Left out: all. */
  dimensions?: number;
  /** Cuts each text to so many tokens, of a pair the longer one first; -1: to as many as the model takes. Left out: a longer text is refused. */
  truncate?: number;
  /**
   * Instruction for a model that scores pairs by its logits (Qwen3-Reranker). Left out: the model's own. Other models refuse it, as do inputs that are
   * not pairs.
   */
  instruction?: string;
  /**
   * The task that the vectors are for, one of `info.tasks`: its LoRA is applied, and its prompt stands before each text. Left out: the task that the
   * model's files name in default_prompt_name, or no LoRA and no prompt.
   */
  task?: string;
  /** Whether values of a model that classifies become scores by its `activation`. Default: true. */
  activation?: boolean;
}

export type EmbeddingEvent =
  /** Every input is tokenized; `tokens`: number of tokens of each input. */
  | { type: 'accepted'; tokens: number[] }
  /** The vector of one input, or its scores, one for each label; those of tokens follow each other. Inputs come in any order. */
  | { type: 'embedding'; index: number; values: Float32Array };

export interface EmbeddingModelInfo {
  readonly kind: 'embedding';
  path: string;
  /** Last segment of the folder or hub id. */
  name: string;
  architecture: string;
  /** `model_type` of the model's configuration; left out where there is none. */
  modelType?: string;
  parameters: number;
  quantization: Exclude<Quantization, 'auto'>;
  /** Formats of the matrices on the device: as stored (`f16`, `q4_k`, `mxfp4` …), or those of `quantization`. */
  weightFormats: readonly string[];
  vocabSize: number;
  /** Number of values of a vector, or of labels. */
  dimensions: number;
  /** The hidden states from which a vector is computed. */
  pooling: 'cls' | 'mean' | 'last';
  /** Whether vectors have length one. */
  normalized: boolean;
  /** Labels of a model that classifies, whose results are scores in place of vectors; left out: the model makes vectors. */
  classifier?: Pick<TextOutputs, 'per' | 'labels' | 'activation'>;
  /** A language model whose files say nothing about vectors, which rank() and score() refuse; left out: they do. */
  isUnstated?: true;
  /** Names of tasks, by prompts and LoRAs that the model's files have for them; left out: they have none. */
  tasks?: readonly string[];
  /** Limit on the tokens of one text. */
  contextLength: number;
  maxQueuedRequests: number;
  memory: { budget: number; weights: number; kv: number; arena: number };
  adapter: AdapterSummary;
}

export interface EmbeddingMetrics {
  /** Texts that wait or are being computed. */
  waiting: number;
  /** Texts whose vectors were computed. */
  texts: number;
  /** Tokens of the texts whose vectors were computed. */
  promptTokens: number;
  /** Forward passes over a batch. */
  steps: number;
  deviceRestarts: number;
}

export interface EmbeddingModel {
  readonly info: EmbeddingModelInfo;
  /** Resolves with the reason once the model no longer answers: it was closed, or its worker thread has ended. */
  readonly ended: Promise<Error>;
  /** Whether the model is closed until the next request opens it again (`sleepAfter`). */
  readonly asleep: boolean;
  /** Ends with `cancelled` when `signal` aborts. Throws EngineError. */
  generate(
    request: EmbeddingRequest,
    options?: { signal?: AbortSignal },
  ): AsyncGenerator<EmbeddingEvent, void, void>;
  /** Token ids of a text, by default with the tokenizer's special tokens. */
  tokenize(text: string, options?: { addSpecialTokens?: boolean }): Promise<number[]>;
  /** The text of token ids, by default with special tokens. */
  detokenize(ids: number[], options?: { skipSpecialTokens?: boolean }): Promise<string>;
  metrics(): Promise<EmbeddingMetrics>;
  close(): Promise<void>;
  /** Closes the model at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void>;
}
