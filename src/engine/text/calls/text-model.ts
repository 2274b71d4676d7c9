// The public interface of a text model: requests in, events out. Requests, events and metrics are plain data, so that they
// can be posted to a worker without conversion.

import { type MessagePart } from '../../../files/message.ts';
import type { ErrorCode } from '../../../files/error.ts';
import type { AdapterSummary } from '../../../gpu/adapter.ts';
import type { MediaKind, TileLimits } from '../../../files/media/decoded.ts';
import type { TranscriptionForm } from '../../../models/transcription-form.ts';
import type { Quantization } from '../../opening/open-event.ts';
import type { KvCacheFormat, MODEL_SETTINGS } from '../../../options/model.ts';
import type { ForModels, SettingValues } from '../../../options/setting.ts';

import type { SamplingOptions, TextPrompt, TextRequest } from './text-request.ts';

export type { MediaKind, TranscriptionForm };
export type * from './text-request.ts';

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'abort';

export interface TokenLogprob {
  id: number;
  /** UTF-8 bytes of the token; they may end inside a character. */
  bytes: number[];
  /** Natural logarithm of the probability. */
  logprob: number;
  /** The most likely tokens, in falling order of probability. */
  top: { id: number; bytes: number[]; logprob: number }[];
}

/** A token of the prompt. `logprob` is null for the first token, which follows nothing. */
export interface PromptToken extends Omit<TokenLogprob, 'logprob'> {
  logprob: number | null;
  /** Text that this token adds to the decoded prompt. */
  text: string;
}

/** Tokens of a prompt that were found in each tier of the prefix cache; the three numbers add up to `cachedTokens`. */
export interface CachedTokens {
  device: number;
  host: number;
  storage: number;
  /** Kind of the storage tier: `file` or `redis`; left out without one. */
  storageBackend?: string;
}

/** Numbers of tokens, by kind of the media that they stand for. */
export type MediaTokens = Partial<Record<MediaKind, number>>;

interface Generated {
  choice: number;
  /** Ids of the tokens that this event reports; each generated token is in exactly one event. */
  ids: number[];
  /** Log probabilities, one entry for each of `ids`, if the request sets `logprobs`. */
  logprobs?: TokenLogprob[];
}

/** A keyword of a tool's parameters that does not restrict the arguments of calls. */
export interface UnenforcedKeyword {
  /** Name of the tool. */
  tool: string;
  /** JSON pointer of the subschema within the tool's parameters; '' for the parameters themselves. */
  pointer: string;
  /** null: the whole subschema restricts nothing, except perhaps the type. */
  keyword: string | null;
}

export type TextEvent =
  /** The prompt is tokenized and the request stands in the queue. */
  | {
      type: 'accepted';
      promptTokens: number;
      maxTokens: number;
      /** Tokens of the prompt that stand for media, by kind; left out: it has none. */
      mediaTokens?: MediaTokens;
      /** Seconds of the sounds in the prompt; left out: it has none. */
      seconds?: number;
      promptIds?: number[];
      /** The replica that computes the request, from 0; left out: the model has one. */
      replica?: number;
      /** Milliseconds that compiling the grammar took; left out if the grammar was cached or the request has none. */
      compileMs?: number;
      /** Keywords of the tools' parameters that do not restrict the arguments of calls; left out: all do, or the tools say `strict: false`. */
      unenforced?: readonly UnenforcedKeyword[];
    }
  /** Progress of the prompt: 0 <= cachedTokens <= processed <= promptTokens */
  | {
      type: 'prefill';
      processed: number;
      promptTokens: number;
      cachedTokens: number;
      cached?: CachedTokens;
    }
  /** Log probabilities of the prompt, if the request sets `promptLogprobs`; precedes the text of all choices. */
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
      /** Number of reasoning tokens, end tag included; left out where the reply is not searched for reasoning. */
      reasoningTokens?: number;
      /** Tokens that were drafted for the choice and computed, and how many of them were right; left out: none were. */
      drafts?: { proposed: number; accepted: number };
      /** Outputs of the last norm, from which tokens were sampled: [tokens][hidden], or [hidden] of the last token, [] if none was. */
      hiddenStates?: number[][] | number[];
      /**
       * Expert ids as little-endian int32 [tokens][layers with experts][experts per token, best first], for the prompt from
       * `routedExperts.from` on and for the reply except its last token, which was never an input.
       */
      routedExperts?: { shape: [number, number, number]; data: Uint8Array };
      /** Reason for finishReason `abort`, if the engine and not the caller ended the choice. */
      error?: {
        code: ErrorCode;
        message: string;
        /** The message in parts, so that an interface can insert its own names of settings. */
        parts?: readonly MessagePart[];
        /** Field of the request that caused the error. */
        param?: string;
      };
    };

export interface TextModelOptions extends SettingValues<ForModels<typeof MODEL_SETTINGS, 'text'>> {
  /** Path of a model folder, or hub id. */
  model: string;
}

export interface TextModelInfo {
  readonly kind: 'text';
  path: string;
  /** Last segment of the folder or hub id. */
  name: string;
  /** Name of the model's class: that of the whole model where media are read, else that of its language model. */
  architecture: string;
  /** `model_type` of the model's configuration; left out where there is none. */
  modelType?: string;
  /** Number of parameters; those of the towers are included where the model reads media. */
  parameters: number;
  quantization: Exclude<Quantization, 'auto'>;
  /** Formats of the matrices on the device: as stored (`f16`, `q4_k`, `mxfp4` …), or those of `quantization`. */
  weightFormats: readonly string[];
  /** Format of keys and values in the KV cache. */
  kvCacheDtype: KvCacheFormat;
  vocabSize: number;
  contextLength: number;
  /** Context length in tokens that config.json states; `contextLength` is the one in use. */
  modelContextLength: number;
  /** Number of replicas; left out: one. `memory` and the two limits that follow are those of all together. */
  replicas?: number;
  maxRunningRequests: number;
  maxQueuedRequests: number;
  memory: { budget: number; weights: number; kv: number; arena: number };
  /** Kind of the prefix cache's storage tier: `file` or `redis`; null without one. */
  storageBackend: string | null;
  sampling: Required<SamplingOptions>;
  /** Source of each value in `sampling`: the checkpoint's generation_config.json, or the documented default. */
  samplingSource: Record<keyof SamplingOptions, 'generation_config.json' | 'gguf' | 'contract'>;
  /** Kinds of media that messages may hold beside text. */
  media: readonly MediaKind[];
  /** How transcribe() asks for the text of a sound; left out: the model hears none. */
  transcription?: TranscriptionForm;
  /** Whether prompts may be messages. */
  hasChatTemplate: boolean;
  /** Names of the model's tool call and reasoning formats; null if none is known. */
  outputFormat: { tools: string | null; reasoning: string | null };
  adapter: AdapterSummary;
}

/** Counters of the prefix cache since the model was opened, in tokens unless stated otherwise. */
export interface CacheMetrics extends CachedTokens {
  /** Prompt tokens of all requests that have run. Of these, `device`, `host` and `storage` tokens were cached. */
  lookedUp: number;
  /** Share of `lookedUp` that was cached, 0 to 1. */
  hitRate: number;
  /** Tokens evicted from the device. */
  evicted: number;
  /** Tokens copied from the device to host memory; `loadedBack` counts the opposite direction. */
  backedUp: number;
  loadedBack: number;
  /** Tokens read from storage into host memory. */
  fetched: number;
  /** Bytes of cached pages in host memory, and the limit. */
  hostBytes: { used: number; total: number };
  /** Bytes of cached pages in storage, and the limit; null without storage or if the storage does not count. */
  storageBytes: { used: number; total: number } | null;
}

/** Counters of grammars, in requests that have a grammar. */
export interface GrammarCounters {
  /** Requests with a grammar. */
  asked: number;
  /** Requests whose grammar was cached or being compiled already. */
  known: number;
  /** Requests refused because the grammar was invalid or exceeded the limits of size and work. */
  refused: number;
  /** Requests that failed because their grammar was not compiled in time on a busy machine. */
  timedOut: number;
  /** Grammars that are being compiled now. */
  compiling: number;
}

export interface LoraInfo {
  name: string;
  path: string;
  /** Largest rank among the modules of the LoRA. */
  rank: number;
  /** Unfinished requests that use the LoRA. */
  requests: number;
}

/** One replica of several. */
export interface ReplicaMetrics extends Pick<
  TextMetrics,
  'running' | 'waiting' | 'promptTokens' | 'generatedTokens' | 'deviceRestarts'
> {
  /** Name of its GPU. */
  adapter: string;
  pages: Pick<TextMetrics['pages'], 'used' | 'cached' | 'total'>;
  /** Share of its prompt tokens that were cached, 0 to 1. */
  hitRate: number;
}

export interface TextMetrics {
  running: number;
  waiting: number;
  /** KV pages in use by requests, pages kept by the prefix cache alone, and all pages of the device. */
  pages: { used: number; cached: number; total: number; tokensPerPage: number; bytesPerPage: number };
  cache: CacheMetrics;
  grammars: GrammarCounters;
  /** Number of loaded LoRAs, and the limit. */
  adapters: { loaded: number; most: number };
  steps: number;
  /** Steps in which more than one sequence took part. */
  sharedSteps: number;
  /** Prompt tokens that were computed; `cache` counts the cached ones. */
  promptTokens: number;
  generatedTokens: number;
  retractions: number;
  deviceRestarts: number;
  /** Drafts that steps have computed, their tokens, and those that were right; left out: the model drafts no tokens. */
  speculation?: { drafts: number; proposed: number; accepted: number };
  /** Bytes of the weights that read media: both are zero while they have left for something that needs the memory; left out: text only. */
  towers?: { deviceBytes: number; hostBytes: number };
  /**
   * Layers whose experts are in host memory, and slots on the device for the experts of each. Experts that steps needed and found in a slot, those
   * that were brought, and the bytes of these, since the device was opened; left out: all are on the device.
   */
  experts?: { layers: number; slots: number; experts: number; hits: number; misses: number; bytes: number };
  /** Each replica; all other members are sums. Left out: the model has one. */
  replicas?: readonly ReplicaMetrics[];
}

export interface TextModel {
  readonly info: TextModelInfo;
  /** Resolves with the reason once the model no longer answers: it was closed, or its worker thread has ended. */
  readonly ended: Promise<Error>;
  /** Whether the model has left the device because it was idle (`sleepAfter`); the next request loads it again. */
  readonly asleep: boolean;
  /**
   * Runs a request. When `signal` aborts, each running choice yields `done` with finishReason `abort`. Throws EngineError for a
   * refused request, and after the last `done` event if a choice ended with an `error`.
   */
  generate(request: TextRequest, options?: { signal?: AbortSignal }): AsyncGenerator<TextEvent, void, void>;
  /**
   * Text and token ids of the prompt, as the chat template and the tokenizer produce them; in the text each medium is the template's
   * placeholder, among the ids it has its tokens. Throws EngineError; cancelled if `signal` aborts, which ends the decoding of media.
   */
  renderPrompt(
    prompt: TextPrompt,
    limits?: TileLimits,
    options?: { signal?: AbortSignal },
  ): Promise<{ text: string; ids: number[]; mediaTokens?: MediaTokens }>;
  /** Token ids of a text. `addSpecialTokens` (default true): with the special tokens that the tokenizer puts around it. */
  tokenize(text: string, options?: { addSpecialTokens?: boolean }): Promise<number[]>;
  /** Text of token ids. `skipSpecialTokens` (default false): without the text of special tokens. */
  detokenize(ids: number[], options?: { skipSpecialTokens?: boolean }): Promise<string>;
  metrics(): Promise<TextMetrics>;
  /**
   * Aborts the requests whose id starts with `id`, or every request if `id` is 'all'; their choices yield `done` with finishReason
   * `abort`. Returns the number of aborted requests.
   */
  abort(id: string): Promise<number>;
  /** Empties the prefix cache (not its storage) and the grammar cache. Does nothing and returns false while requests run or wait. */
  flushCache(): Promise<boolean>;
  /** LoRAs that requests may name in `adapter`. */
  loadedLoras(): Promise<LoraInfo[]>;
  /** Loads a LoRA from a folder while requests run. Returns all loaded adapters. Throws EngineError. */
  loadLora(name: string, path: string): Promise<LoraInfo[]>;
  /** Unloads a LoRA. Requests that use it continue to their end; new ones fail with model_not_found. Returns the LoRAs left. */
  unloadLora(name: string): Promise<LoraInfo[]>;
  /** Aborts running requests and releases the device. */
  close(): Promise<void>;
  /** Calls `close`, at the end of an `await using` scope. */
  [Symbol.asyncDispose](): Promise<void>;
}
