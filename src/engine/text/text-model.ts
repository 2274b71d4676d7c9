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
  | {
      messages: ChatMessage[];
      tools?: Tool[];
      templateKwargs?: Record<string, unknown>;
      /** The last message is the assistant's and unfinished: the reply goes on with it. */
      continueFinal?: boolean;
    }
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

/** What the text has to match; one of them. */
export type TextConstraint =
  | { type: 'json_object' }
  | { type: 'json_schema'; schema: unknown }
  | { type: 'regex'; pattern: string }
  /** W3C EBNF or llama.cpp's GBNF; the start rule is `root`. */
  | { type: 'ebnf'; grammar: string }
  /** Free text with tagged regions, each with a constraint of its own. */
  | { type: 'structural_tag'; structures: StructuralTag[]; triggers: string[] };

/** From `begin` to `end` the text matches `schema`; text that matches one of the triggers must go on as one of the tags. */
export interface StructuralTag {
  begin: string;
  schema: unknown;
  end: string;
}

/** Changes logits, after the bias. Several run in their order. */
export type LogitProcessor =
  | { name: 'allowed_tokens'; tokens: number[] }
  | { name: 'disallowed_tokens'; tokens: number[] }
  /** Thinking ends after so many tokens. */
  | { name: 'thinking_budget'; tokens: number }
  /** No run of `size` tokens occurs twice; runs are looked for in the last `window` tokens. */
  | { name: 'no_repeat_ngram'; size: number; window?: number }
  | { name: 'bad_words'; words: string[] }
  /** `fn process(token: u32, logit: f32, position: u32, count: u32) -> f32`: needs the option customLogitProcessors. */
  | { name: 'wgsl'; source: string };

export type ReasoningEffort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';

export interface ReasoningOptions {
  /** false: reasoning stays in the text, tags included. Left out: true. */
  separate?: boolean;
  /** false: reasoning comes in one piece when it is over. Left out: true. */
  stream?: boolean;
  effort?: ReasoningEffort;
  /** Most tokens of reasoning; then it is ended. */
  budget?: number;
}

export type ToolChoice =
  | 'auto'
  | 'none'
  | 'required'
  | { name: string }
  | { mode: 'auto' | 'required'; names: string[] };

export interface TextRequest extends SamplingOptions {
  prompt: TextPrompt;
  /** A name for it, unique among those that live; left out: one is made up. */
  id?: string;
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
  /** Regular expressions, matched in linear time. */
  stopRegex?: string[];
  /** Tokens before which no end token, stop string or stop expression ends a choice. */
  minTokens?: number;
  ignoreEos?: boolean;
  /** The stop stays in the text. */
  noStopTrim?: boolean;
  /** false: special tokens show in the text. */
  skipSpecialTokens?: boolean;
  /** -2 to 2, times how often a token was generated. */
  frequencyPenalty?: number;
  /** -2 to 2, for tokens that were generated. */
  presencePenalty?: number;
  /** (0, 2]: positive logits of generated tokens are divided by it, negative ones multiplied. */
  repetitionPenalty?: number;
  processors?: LogitProcessor[];
  /** Log probabilities of each token, and of that many best ones, 0 to 20. */
  logprobs?: number;
  constraint?: TextConstraint;
  /** Tools are in the prompt. Left out: auto. */
  toolChoice?: ToolChoice;
  /** false: one tool call at most. */
  parallelToolCalls?: boolean;
  reasoning?: ReasoningOptions;
  /** Name of a loaded LoRA adapter, or a folder of one. */
  lora?: string;
  /** Higher comes first. Left out: 0. */
  priority?: number;
  /** Prompts are shared in the cache only among requests with the same salt. */
  cacheSalt?: string;
  /** Milliseconds to wait for a place, and for the whole; left out: the model's. */
  timeouts?: { queue?: number; total?: number };
  /** `last`: of the last token alone. */
  hiddenStates?: 'all' | 'last';
  /** Which experts ran, from that prompt token on. */
  routedExperts?: { from: number };
}

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

/** Where a prompt's cached tokens came from; they add up to cachedTokens. */
export interface CachedTokens {
  device: number;
  host: number;
  storage: number;
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
  | { type: 'accepted'; promptTokens: number; maxTokens: number }
  /** 0 <= cachedTokens <= processed <= promptTokens */
  | {
      type: 'prefill';
      processed: number;
      promptTokens: number;
      cachedTokens: number;
      cached?: CachedTokens;
    }
  | ({ type: 'delta'; text: string } & Generated)
  | ({ type: 'reasoning'; text: string } & Generated)
  /** `call` counts the choice's calls from 0. The first event of a call has its id and name; `arguments` adds up to JSON. */
  | ({ type: 'toolCall'; call: number; id?: string; name?: string; arguments: string } & Generated)
  | {
      type: 'done';
      choice: number;
      finishReason: FinishReason;
      /** The stop string or token id that matched. */
      matchedStop: string | number | null;
      completionTokens: number;
      /** Those of reasoning, its end tag included. */
      reasoningTokens?: number;
      /** [tokens][hidden], or [hidden] of the last. */
      hiddenStates?: number[][] | number[];
      /** int32 [tokens][layers][experts a token], little-endian. */
      routedExperts?: { shape: [number, number, number]; data: Uint8Array };
      /** With finishReason `abort`: why, where the fault is not the caller's. */
      error?: { code: string; message: string };
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
