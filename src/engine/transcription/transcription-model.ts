// The interface of a transcription model: sounds in, segments of text out. All of it is plain data that can be sent to another thread.

import type { Sound } from '../../files/media/decoded.ts';
import type { AdapterSummary } from '../../gpu/adapter.ts';
import type { MODEL_SETTINGS } from '../../options/model.ts';
import type { ForModels, SettingValues } from '../../options/setting.ts';
import type { Quantization } from '../opening/open-event.ts';

export interface TranscriptionModelOptions extends SettingValues<
  ForModels<typeof MODEL_SETTINGS, 'transcription'>
> {
  /** Path of a model folder, or hub id. */
  model: string;
}

export interface TranscriptionRequest {
  /** A file's bytes, or samples. */
  audio: Uint8Array | Sound;
  /** Code or English name of the language that is spoken; left out: the model finds out. */
  language?: string;
  /** Writes what is said, or its translation to English. Default: transcribe. */
  task?: 'transcribe' | 'translate';
  /** Text that could stand before the sound's: names and words as they are to be written. Models that write no times take none. */
  prompt?: string;
  /**
   * 0 takes the most likely tokens; above, tokens are drawn. Of several, each is tried if what the one before wrote repeats itself or is unlikely.
   * Default: 0, 0.2, 0.4, 0.6, 0.8, 1.
   */
  temperature?: number | number[];
  /** Whether the model writes times, which divide the text into segments; otherwise each window is one. Default: true, where the model writes times. */
  timestamps?: boolean;
  /** Whether words have times. Default: false. */
  words?: boolean;
  /** Whether what was written about the windows before stands before the next. Default: true. */
  conditionOnPreviousText?: boolean;
  /** Bytes of a text to those when compressed, above which the next temperature is tried; null: never. Default: 2.4. */
  compressionRatioThreshold?: number | null;
  /** Average log probability of a window's tokens below which the next temperature is tried; null: never. Default: -1. */
  logprobThreshold?: number | null;
  /** Probability of silence above which a window without likely tokens is left out; null: never. Default: 0.6. */
  noSpeechThreshold?: number | null;
  /** Most tokens of a window. Default: half of the model's context, or all of it where no text can stand before. */
  maxTokens?: number;
  /** Determines what is drawn. Default: random. */
  seed?: number;
}

export interface TranscriptionSegment {
  /** Number of the segment, from 0. */
  id: number;
  /** Seconds. */
  start: number;
  end: number;
  text: string;
  /** Tokens with those of times. */
  tokens: number[];
  /** Second at which its window begins. */
  seek: number;
  temperature: number;
  averageLogprob: number;
  compressionRatio: number;
  noSpeechProbability: number;
  /** Where the request asks for them. */
  words?: TranscriptionWord[];
}

export interface TranscriptionWord {
  /** With the space before it. */
  text: string;
  /** Seconds. */
  start: number;
  end: number;
}

export type TranscriptionEvent =
  /** The sound is decoded; `seconds`: its length. */
  | { type: 'accepted'; seconds: number }
  /** The language that is spoken, as a code. `probability`: how likely it was found; null: the request states it, or the model knows one only. */
  | { type: 'language'; language: string; probability: number | null }
  /** Text of a model that writes no times, such as a language model that hears; there are no segments then. */
  | { type: 'delta'; text: string }
  /** Segments in order. */
  | { type: 'segment'; segment: TranscriptionSegment }
  /** `tokens`: number of tokens that were written. */
  | { type: 'done'; tokens: number };

export interface TranscriptionModelInfo {
  readonly kind: 'transcription';
  path: string;
  /** Last segment of the folder or hub id. */
  name: string;
  architecture: string;
  /** `model_type` of the model's configuration; left out where there is none. */
  modelType?: string;
  parameters: number;
  quantization: Exclude<Quantization, 'auto'>;
  /** Formats of the matrices on the device: as stored (`f16`, `bf16` …), or those of `quantization`. */
  weightFormats: readonly string[];
  /** Codes of the languages that it can be told. */
  languages: readonly string[];
  /** Whether it translates to English. */
  translates: boolean;
  /** Whether it writes times, and whether words have some. */
  writesTimes: boolean;
  timesWords: boolean;
  /** Seconds of a window. */
  windowSeconds: number;
  /** Windows that are transcribed together. */
  maxRunningRequests: number;
  maxQueuedRequests: number;
  memory: { budget: number; weights: number; kv: number; arena: number };
  adapter: AdapterSummary;
}

export interface TranscriptionMetrics {
  /** Requests that wait or are being computed. */
  waiting: number;
  /** Windows that were transcribed. */
  windows: number;
  /** Tokens that were written. */
  generatedTokens: number;
  deviceRestarts: number;
}

export interface TranscriptionModel {
  readonly info: TranscriptionModelInfo;
  /** Resolves with the reason once the model no longer answers: it was closed, or its worker thread has ended. */
  readonly ended: Promise<Error>;
  /** Whether the model is closed until the next request opens it again (`sleepAfter`). */
  readonly asleep: boolean;
  /** Ends with `cancelled` when `signal` aborts. Throws EngineError. */
  generate(
    request: TranscriptionRequest,
    options?: { signal?: AbortSignal },
  ): AsyncGenerator<TranscriptionEvent, void, void>;
  metrics(): Promise<TranscriptionMetrics>;
  close(): Promise<void>;
  /** Closes the model at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void>;
}
