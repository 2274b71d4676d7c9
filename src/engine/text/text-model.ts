// What a text model offers to the rooms above: requests in, events out. Everything here is plain data, so that it
// crosses a worker boundary as it is.

import type { ErrorCode } from '../../files/error.ts';
import type { AdapterSummary } from '../../gpu/adapter.ts';
import type { Quantization } from '../session/open-event.ts';
import type { SamplingOptions, TextPrompt, TextRequest } from './text-request.ts';

export type * from './text-request.ts';

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'abort';

export interface TokenLogprob {
  id: number;
  /** UTF-8; of one token perhaps no whole character. */
  bytes: number[];
  /** Natural logarithm of the probability. */
  logprob: number;
  /** Best first. */
  top: { id: number; bytes: number[]; logprob: number }[];
}

/** A token of the prompt; the first has nothing before it that could make it likely. */
export interface PromptToken extends Omit<TokenLogprob, 'logprob'> {
  logprob: number | null;
  /** What it adds to the prompt's text. */
  text: string;
}

/** Where a prompt's cached tokens came from; they add up to cachedTokens. */
export interface CachedTokens {
  device: number;
  host: number;
  storage: number;
  /** Kind of storage, where there is one: `file`, `redis`. */
  storageBackend?: string;
}

interface Generated {
  choice: number;
  /** Tokens whose text this is; each token is in one event. */
  ids: number[];
  /** One for each of `ids`, where asked for. */
  logprobs?: TokenLogprob[];
}

export type TextEvent =
  /** The prompt is tokenized and the request stands in the queue. */
  | {
      type: 'accepted';
      promptTokens: number;
      maxTokens: number;
      promptIds?: number[];
      /** Milliseconds that its grammar took, where it was not known yet. */
      compileMs?: number;
    }
  /** 0 <= cachedTokens <= processed <= promptTokens */
  | {
      type: 'prefill';
      processed: number;
      promptTokens: number;
      cachedTokens: number;
      cached?: CachedTokens;
    }
  /** Where promptLogprobs asks for them: before any text, of all choices. */
  | { type: 'prompt'; tokens: PromptToken[] }
  | ({ type: 'delta'; text: string } & Generated)
  | ({ type: 'reasoning'; text: string } & Generated)
  /** `call` counts the choice's calls from 0. The first event of a call has its id and name; `arguments` adds up to JSON. */
  | ({ type: 'toolCall'; call: number; id?: string; name?: string; arguments: string } & Generated)
  | {
      type: 'done';
      choice: number;
      finishReason: FinishReason;
      /** The stop string or token id that matched; null with tool calls. */
      matchedStop: string | number | null;
      completionTokens: number;
      /** Those of reasoning, its end tag included. */
      reasoningTokens?: number;
      /** What each token was drawn from (the last norm's output): [tokens][hidden], or [hidden] of the last token, [] without one. */
      hiddenStates?: number[][] | number[];
      /**
       * int32 [tokens][layers with experts][experts a token, best first], little-endian: of prompt and reply from the token asked
       * for on, but for the last, which went nowhere.
       */
      routedExperts?: { shape: [number, number, number]; data: Uint8Array };
      /** With finishReason `abort`: why, where the fault is not the caller's. */
      error?: {
        code: ErrorCode;
        message: string;
        /** The field of the request that it is about. */ param?: string;
      };
    };

export interface TextModelOptions {
  /** Folder, or hub id. */
  model: string;
  revision?: string;
  quantization?: Quantization;
  /** Part of an adapter's name, or its index in `adapters()`. */
  adapter?: string | number;
  /** Bytes for weights, KV pages and arena together. */
  memoryBudget?: number;
  /** Tokens; left out: the model's own, shortened where memory asks for it. */
  contextLength?: number;
  maxRunningRequests?: number;
  maxQueuedRequests?: number;
  /** Tokens that the KV cache holds for all requests together; left out: what the memory budget leaves. */
  maxTotalTokens?: number;
  /** Prompt tokens of one step. */
  prefillChunk?: number;
  /** false: no request uses what another computed. Left out: true. */
  prefixCache?: boolean;
  /** Bytes of host memory for pages that the device has no room for; left out: none. */
  hostCache?: number;
  /** Keeps pages beyond the program's end: `file`, a folder, or a redis:// address. */
  storageCache?: string;
  /** Bytes that files of pages may take; left out: 10 GB. Each open model counts its own, in one folder too. */
  storageCacheBytes?: number;
  /** Milliseconds that a request may wait for a place, and may take in all; left out: any. */
  queueTimeout?: number;
  totalTimeout?: number;
  /** LoRA adapters to begin with, NAME=PATH or a path whose last segment is the name. Requests may name them, and their folders. */
  loraPaths?: string[];
  /** Folder whose adapters requests may name. */
  loraDir?: string;
  /** Adapters loaded at once; left out: 8. */
  maxLoras?: number;
  /** Largest rank of an adapter; left out: 64. */
  maxLoraRank?: number;
  /** Requests may ask for hidden states, for the experts that ran. */
  enableHiddenStates?: boolean;
  enableRoutedExperts?: boolean;
  /** `contract`: generation_config.json is not read. */
  samplingDefaults?: 'model' | 'contract';
  /** How the model writes tool calls, by the format's name, or `none`; left out: its chat template says. */
  toolCallParser?: string;
  /** The same for its reasoning. */
  reasoningParser?: string;
  /** Log probabilities of what the model says (raw), or of what is sampled from. Left out: raw. */
  logprobsMode?: 'raw' | 'processed';
  /** Requests may bring functions of their own in WGSL; all kernels then run with bounds checks. */
  customLogitProcessors?: boolean;
  /** Validation and bounds checks of the GPU layer on. */
  safe?: boolean;
  /** Run in the caller's thread instead of a worker. */
  inline?: boolean;
  /** Milliseconds without a request after which the model leaves the device; the next one opens it again. Left out: it stays. */
  sleepAfter?: number;
}

export interface TextModelInfo {
  path: string;
  /** Last segment of the folder or hub id. */
  name: string;
  architecture: string;
  parameters: number;
  quantization: Exclude<Quantization, 'auto'>;
  vocabSize: number;
  contextLength: number;
  /** What config.json says. */
  modelContextLength: number;
  maxRunningRequests: number;
  maxQueuedRequests: number;
  memory: { budget: number; weights: number; kv: number; arena: number };
  /** Kind of the cache's storage: `file`, `redis`; null: none. */
  storageBackend: string | null;
  sampling: Required<SamplingOptions>;
  /** Where each value in `sampling` comes from. */
  samplingSource: Record<keyof SamplingOptions, 'generation_config.json' | 'contract'>;
  /** Whether it takes messages. */
  hasChatTemplate: boolean;
  /** How it writes tool calls and reasoning; null: it has none that is known. */
  outputFormat: { tools: string | null; reasoning: string | null };
  adapter: AdapterSummary;
}

/** Tokens, where nothing else is said. */
export interface CacheMetrics extends CachedTokens {
  /** Prompt tokens of requests that have run; `device`, `host` and `storage` of them were cached. */
  lookedUp: number;
  /** Share of the looked up tokens that were cached, 0 to 1. */
  hitRate: number;
  /** Dropped from the device to make room. */
  evicted: number;
  /** Copied from the device to host memory, and back. */
  backedUp: number;
  loadedBack: number;
  /** Brought from storage to host memory. */
  fetched: number;
  /** Bytes in host memory, and how many there may be. */
  hostBytes: { used: number; total: number };
  /** Bytes in storage; null where it keeps no count, or there is none. */
  storageBytes: { used: number; total: number } | null;
}

/** Of requests that have one. */
export interface GrammarCounters {
  asked: number;
  /** Those of them that were there, or being compiled, already. */
  known: number;
  /** Those that made no sense, or took too much room. */
  refused: number;
  /** Those that took too long. */
  timedOut: number;
  /** At the moment. */
  compiling: number;
}

export interface LoraInfo {
  name: string;
  path: string;
  /** The largest of its modules. */
  rank: number;
  /** Those that run with it. */
  requests: number;
}

export interface TextMetrics {
  running: number;
  waiting: number;
  /** Pages that requests hold, those that only the cache holds, and all there are. */
  pages: { used: number; cached: number; total: number; tokensPerPage: number; bytesPerPage: number };
  cache: CacheMetrics;
  grammars: GrammarCounters;
  /** LoRA adapters that are loaded, and how many there may be. */
  adapters: { loaded: number; most: number };
  steps: number;
  /** Steps in which more than one sequence took part. */
  sharedSteps: number;
  /** Computed; those found in the cache are in `cache`. */
  promptTokens: number;
  generatedTokens: number;
  retractions: number;
  deviceRestarts: number;
}

export interface TextModel {
  readonly info: TextModelInfo;
  /** Resolves with the reason once the model answers no more: it was closed, or the thread it ran in has ended. */
  readonly ended: Promise<Error>;
  /** It is not on the device: the next request opens it again (`sleepAfter`). */
  readonly asleep: boolean;
  /**
   * Ends early when `signal` aborts: each running choice then yields `done` with finishReason `abort`. Throws EngineError;
   * where a choice ended with an `error`, once all choices are done.
   */
  generate(request: TextRequest, options?: { signal?: AbortSignal }): AsyncGenerator<TextEvent, void, void>;
  /** The rendered template, for those who want to see it. */
  renderPrompt(prompt: TextPrompt): Promise<{ text: string; ids: number[] }>;
  /** With the tokens that the tokenizer puts around a text, unless told otherwise. */
  tokenize(text: string, options?: { addSpecialTokens?: boolean }): Promise<number[]>;
  /** With special tokens, unless told otherwise. */
  detokenize(ids: number[], options?: { skipSpecialTokens?: boolean }): Promise<string>;
  metrics(): Promise<TextMetrics>;
  /** Ends the requests whose id begins so, or all; how many. Their choices yield `done` with finishReason `abort`. */
  abort(id: string): Promise<number>;
  /** Empties the prefix cache, in storage excepted, and forgets grammars; false where requests run or wait, and nothing is done. */
  flushCache(): Promise<boolean>;
  /** LoRA adapters that requests may name. */
  loadedAdapters(): Promise<LoraInfo[]>;
  /** Loads one from any folder while requests run; which there are then. */
  loadAdapter(name: string, path: string): Promise<LoraInfo[]>;
  /** Requests that run with it end as they would; new ones get model_not_found. */
  unloadAdapter(name: string): Promise<LoraInfo[]>;
  /** Ends what runs, and gives the device back. */
  close(): Promise<void>;
  /** The same as close: `await using` ends with it. */
  [Symbol.asyncDispose](): Promise<void>;
}
