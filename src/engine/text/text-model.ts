// What a text model offers to the rooms above: requests in, events out. Everything here is plain data, so that it
// crosses a worker boundary as it is.

import type { AdapterSummary } from '../../gpu/adapter.ts';

export type Role = 'system' | 'user' | 'assistant' | 'tool' | 'function' | 'developer';

export interface ContentPart {
  type: string;
  text?: string;
  [member: string]: unknown;
}

export interface ToolCall {
  id?: string;
  type?: 'function';
  /** `arguments` is a JSON object as text, or the object itself. */
  function: { name: string; arguments: string | Record<string, unknown> };
}

export interface ChatMessage {
  role: Role;
  content: string | ContentPart[] | null;
  name?: string;
  reasoning_content?: string | null;
  tool_calls?: ToolCall[] | null;
  tool_call_id?: string;
}

export interface Tool {
  type: 'function';
  function: { name: string; description?: string; parameters?: Record<string, unknown>; strict?: boolean };
}

/** A conversation for the model's own template, plain text, or token ids. */
export type TextPrompt =
  | { messages: ChatMessage[]; tools?: Tool[]; templateKwargs?: Record<string, unknown> }
  | { text: string }
  | { ids: number[] };

/** Left out: generation_config.json decides, then the contract's default (1, 1, off, off). */
export interface SamplingOptions {
  /** 0 to 2; 0 is greedy. */
  temperature?: number;
  /** (0, 1]: a token stays while the mass before it is at most this. */
  topP?: number;
  /** 0 and -1 mean off. */
  topK?: number;
  /** [0, 1]: share of the best token's probability a token needs. */
  minP?: number;
}

export interface TextRequest extends SamplingOptions {
  prompt: TextPrompt;
  /** Clamped to what the context leaves; left out: all of it. */
  maxTokens?: number;
  /** Choices, 1 to 128. */
  n?: number;
  /** Same seed, same text, alone or in a batch. Left out: drawn at random. */
  seed?: number;
  /** Token id → value added to its logit, -100 to 100. */
  logitBias?: Record<string, number>;
  stop?: string[];
  stopTokenIds?: number[];
  ignoreEos?: boolean;
}

export type FinishReason = 'stop' | 'length' | 'abort';

export type TextEvent =
  /** The prompt is tokenized and the request stands in the queue. */
  | { type: 'accepted'; promptTokens: number; maxTokens: number }
  /** 0 <= cachedTokens <= processed <= promptTokens */
  | { type: 'prefill'; processed: number; promptTokens: number; cachedTokens: number }
  | { type: 'delta'; choice: number; text: string; ids: number[] }
  | {
      type: 'done';
      choice: number;
      finishReason: FinishReason;
      /** The stop string or token id that matched. */
      matchedStop: string | number | null;
      completionTokens: number;
    };

export type Quantization = 'none' | 'int8' | 'int4' | 'auto';

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
  /** `contract`: generation_config.json is not read. */
  samplingDefaults?: 'model' | 'contract';
  /** Validation and bounds checks of the GPU layer on. */
  safe?: boolean;
  /** Run in the caller's thread instead of a worker. */
  inline?: boolean;
}

export type OpenEvent =
  | { type: 'download'; file: string; bytes: number; totalBytes: number; resumedPercent?: number }
  | { type: 'load'; bytes: number; totalBytes: number }
  | { type: 'warmup'; done: number; total: number }
  /** Something the user should know: a shortened context, a chosen quantization, a lost device. */
  | { type: 'note'; message: string };

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
  sampling: Required<SamplingOptions>;
  /** Where each value in `sampling` comes from. */
  samplingSource: Record<keyof SamplingOptions, 'generation_config.json' | 'contract'>;
  /** Whether it takes messages. */
  hasChatTemplate: boolean;
  adapter: AdapterSummary;
}

export interface TextMetrics {
  running: number;
  waiting: number;
  pages: { used: number; total: number; tokensPerPage: number };
  steps: number;
  /** Steps in which more than one sequence took part. */
  sharedSteps: number;
  promptTokens: number;
  generatedTokens: number;
  retractions: number;
  deviceRestarts: number;
}

export interface TextModel {
  readonly info: TextModelInfo;
  /** Resolves with the reason once the model answers no more: it was closed, or the thread it ran in has ended. */
  readonly ended: Promise<Error>;
  /** Ends early when `signal` aborts: each running choice then yields `done` with finishReason `abort`. Throws EngineError. */
  generate(request: TextRequest, options?: { signal?: AbortSignal }): AsyncGenerator<TextEvent, void, void>;
  /** The rendered template, for those who want to see it. */
  renderPrompt(prompt: TextPrompt): Promise<{ text: string; ids: number[] }>;
  tokenize(text: string): Promise<number[]>;
  detokenize(ids: number[]): Promise<string>;
  metrics(): Promise<TextMetrics>;
  /** Ends what runs, and gives the device back. */
  close(): Promise<void>;
  /** The same as close: `await using` ends with it. */
  [Symbol.asyncDispose](): Promise<void>;
}
