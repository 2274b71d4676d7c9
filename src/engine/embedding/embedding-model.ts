// What an embedding model offers to the rooms above: texts in, vectors out. Plain data, so that it crosses a worker boundary as it is.

import type { AdapterSummary } from '../../gpu/adapter.ts';
import type { Quantization } from '../session/open-event.ts';
import type { MODEL_SETTINGS } from '../../options/model.ts';
import type { ForModels, SettingValues } from '../../options/setting.ts';

export interface EmbeddingModelOptions extends SettingValues<ForModels<typeof MODEL_SETTINGS, 'embedding'>> {
  /** Folder, or hub id. */
  model: string;
}

export interface EmbeddingRequest {
  /** Up to 2048 texts, or lists of token ids, which are taken as they are. */
  inputs: (string | number[])[];
  /** Keep the first so many values and bring them to length one again. Left out: all. */
  dimensions?: number;
}

export type EmbeddingEvent =
  /** Everything is tokenized; tokens of each input. */
  | { type: 'accepted'; tokens: number[] }
  /** In any order. */
  | { type: 'embedding'; index: number; values: Float32Array };

export interface EmbeddingModelInfo {
  path: string;
  /** Last segment of the folder or hub id. */
  name: string;
  architecture: string;
  parameters: number;
  quantization: Exclude<Quantization, 'auto'>;
  vocabSize: number;
  /** Values of a vector. */
  dimensions: number;
  /** Which states stand for a text. */
  pooling: 'cls' | 'mean' | 'last';
  /** Vectors have length one. */
  normalized: boolean;
  /** Tokens of one text. */
  contextLength: number;
  maxQueuedRequests: number;
  memory: { budget: number; weights: number; kv: number; arena: number };
  adapter: AdapterSummary;
}

export interface EmbeddingMetrics {
  /** Texts that wait or are computed. */
  waiting: number;
  /** Texts done. */
  texts: number;
  /** Their tokens. */
  promptTokens: number;
  /** Passes over a batch. */
  steps: number;
  deviceRestarts: number;
}

export interface EmbeddingModel {
  readonly info: EmbeddingModelInfo;
  /** Resolves with the reason once the model answers no more: it was closed, or the thread it ran in has ended. */
  readonly ended: Promise<Error>;
  /** It is not on the device: the next request opens it again (`sleepAfter`). */
  readonly asleep: boolean;
  /** Ends with `cancelled` when `signal` aborts. Throws EngineError. */
  generate(
    request: EmbeddingRequest,
    options?: { signal?: AbortSignal },
  ): AsyncGenerator<EmbeddingEvent, void, void>;
  /** With the tokens that the model puts around a text, unless told otherwise. */
  tokenize(text: string, options?: { addSpecialTokens?: boolean }): Promise<number[]>;
  /** With special tokens, unless told otherwise. */
  detokenize(ids: number[], options?: { skipSpecialTokens?: boolean }): Promise<string>;
  metrics(): Promise<EmbeddingMetrics>;
  close(): Promise<void>;
  /** The same as close: `await using` ends with it. */
  [Symbol.asyncDispose](): Promise<void>;
}
