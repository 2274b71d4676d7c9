// The interface of a text model to the rooms above: requests in, events out. Everything here is plain data, so that it
// crosses a worker boundary as it is.

import { type MessagePart } from '../../files/message.ts';
import type { ErrorCode } from '../../files/error.ts';
import type { AdapterSummary } from '../../gpu/adapter.ts';
import type { Quantization } from '../session/open-event.ts';
import type { MODEL_SETTINGS } from '../../options/model.ts';
import type { ForModels, SettingValues } from '../../options/setting.ts';
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
  /** The text that the token adds to the prompt's. */
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
      /** Generated tokens of reasoning, its end tag included. */
      reasoningTokens?: number;
      /** Output of the last norm that each token was drawn from: [tokens][hidden], or [hidden] of the last token, [] without one. */
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
        /** The message in pieces, the names of settings apart. */
        parts?: readonly MessagePart[];
        /** The field of the request that it is about. */ param?: string;
      };
    };

export interface TextModelOptions extends SettingValues<ForModels<typeof MODEL_SETTINGS, 'text'>> {
  /** Folder, or hub id. */
  model: string;
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
  /** The context length that config.json states. */
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

/** Counters of requests with a grammar. */
export interface GrammarCounters {
  asked: number;
  /** Grammars that were compiled, or being compiled, already. */
  known: number;
  /** Grammars that were refused as invalid or too large. */
  refused: number;
  /** Grammars whose compilation took too long. */
  timedOut: number;
  /** Grammars that are being compiled now. */
  compiling: number;
}

export interface LoraInfo {
  name: string;
  path: string;
  /** The largest rank among the adapter's modules. */
  rank: number;
  /** Requests that run with the adapter. */
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
  /** Calls `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}
