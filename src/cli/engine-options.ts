// The options of the engine: how a model is opened, and how its requests share it. Help, checks and defaults are read from here.

import {
  DEFAULTS,
  type EmbeddingModelOptions,
  type ImageModelOptions,
  LIMITS,
  REASONING_FORMATS,
  type TextModelOptions,
  TOOL_CALL_FORMATS,
} from '../index.ts';
import { LORA_OPTIONS, toLoraOptions } from './lora-options.ts';
import type { OptionTable, Values } from './option.ts';

const MOST_SECONDS = Math.floor(LIMITS.timeout / 1000);

export const ENGINE_OPTIONS = {
  revision: {
    kind: 'string',
    group: 'Model',
    value: 'name',
    help: 'Branch, tag or commit on the hub.',
    otherwise: "the hub's own",
  },
  quantization: {
    kind: 'choice',
    choices: ['none', 'int8', 'int4', 'auto'],
    default: 'none',
    group: 'Model',
    help: 'Weights as stored, or packed smaller while loading; auto takes the largest that fits the budget.',
  },
  'context-length': {
    kind: 'integer',
    elsewhere: ['ctx-size', 'c', 'num-ctx', 'max-model-len'],
    min: 1,
    group: 'Model',
    help: 'Tokens of prompt and answer together.',
    otherwise: "the model's, shortened to fit memory",
  },
  'sampling-defaults': {
    kind: 'choice',
    choices: ['model', 'contract'],
    default: 'model',
    group: 'Model',
    help: 'Where temperature and the like come from: generation_config.json first, or never.',
  },
  'logprobs-mode': {
    kind: 'choice',
    choices: ['raw', 'processed'],
    default: 'raw',
    group: 'Model',
    help: 'Log probabilities are those of the model, or of what is sampled from: after penalties, masks and temperature.',
  },
  'tool-call-parser': {
    kind: 'choice',
    choices: TOOL_CALL_FORMATS,
    group: 'Model',
    value: 'format',
    help: 'How the model writes tool calls: hermes, llama3, mistral …, or none; a wrong name lists them all.',
    otherwise: 'what its chat template shows',
  },
  'reasoning-parser': {
    kind: 'choice',
    choices: REASONING_FORMATS,
    group: 'Model',
    value: 'format',
    help: 'How it marks its reasoning: think, deepseek_r1, mistral …, or none.',
    otherwise: 'what its chat template shows',
  },
  adapter: {
    kind: 'string',
    group: 'Device',
    value: 'name|n',
    help: 'Part of an adapter name, or its number in `npx svc-engine doctor`.',
    otherwise: 'the fastest',
  },
  'memory-budget': {
    kind: 'bytes',
    elsewhere: ['mem-fraction-static', 'gpu-memory-utilization'],
    group: 'Device',
    help: 'Memory of each model for weights, cache and scratch together.',
    otherwise: 'a share of free memory on software adapters, else what the GPU gives',
  },
  safe: {
    kind: 'boolean',
    group: 'Device',
    help: "The GPU layer's validation and bounds checks on; slower.",
    otherwise: 'off',
  },
} as const satisfies OptionTable;

export const BATCH_OPTIONS = {
  'max-running-requests': {
    kind: 'integer',
    elsewhere: ['max-num-seqs', 'parallel', 'np'],
    default: DEFAULTS.runningRequests,
    min: 1,
    max: LIMITS.runningRequests,
    group: 'Batching',
    help: 'Requests computed together.',
  },
  'max-queued-requests': {
    kind: 'integer',
    default: DEFAULTS.queuedRequests,
    min: 0,
    group: 'Batching',
    help: 'Requests that may wait for a model; more get 429.',
  },
  'max-total-tokens': {
    kind: 'integer',
    min: LIMITS.leastTotalTokens,
    group: 'Batching',
    help: 'Tokens that the KV cache holds for all requests together.',
    otherwise: 'what the memory budget leaves',
  },
  'prefill-chunk': {
    kind: 'integer',
    elsewhere: ['chunked-prefill-size', 'max-num-batched-tokens', 'ubatch-size'],
    min: LIMITS.prefillChunk.least,
    max: LIMITS.prefillChunk.most,
    group: 'Batching',
    help: 'Prompt tokens computed in one step.',
    otherwise: 'chosen for the adapter',
  },
  'disable-radix-cache': {
    kind: 'boolean',
    group: 'Batching',
    help: 'No request uses what was computed for another.',
    otherwise: 'off',
  },
  'host-cache': {
    kind: 'bytes',
    elsewhere: ['hicache-size'],
    group: 'Batching',
    help: 'Host memory for prompts that the KV cache has no room for.',
    otherwise: 'none',
  },
  'storage-cache': {
    kind: 'string',
    group: 'Batching',
    value: 'file|folder|redis://...',
    help: "Keeps prompts beyond the program's end: in files, or in Redis or Valkey (needs the package ioredis).",
    otherwise: 'none',
  },
  'storage-cache-size': {
    kind: 'bytes',
    group: 'Batching',
    help: 'Bytes that files of prompts may take, for each open model; needs --storage-cache.',
    otherwise: `${DEFAULTS.storedBytes / 1e9}GB`,
  },
  'queue-timeout': {
    kind: 'number',
    above: 0,
    max: MOST_SECONDS,
    group: 'Batching',
    value: 'seconds',
    help: 'How long a request may wait for a place; then it gets 503.',
    otherwise: 'any time',
  },
  'request-timeout': {
    kind: 'number',
    above: 0,
    max: MOST_SECONDS,
    group: 'Batching',
    value: 'seconds',
    help: 'How long a request may take in all; then it gets 503, with what was said until then.',
    otherwise: 'any time',
  },
  'sleep-idle-seconds': {
    kind: 'number',
    above: 0,
    max: MOST_SECONDS,
    group: 'Device',
    value: 'seconds',
    help: 'A model that nobody asks for so long leaves the device; its next request opens it again, and waits.',
    otherwise: 'models stay',
  },
  'enable-custom-logit-processor': {
    kind: 'boolean',
    group: 'Batching',
    help: 'Requests may bring WGSL functions that change logits; kernels then run with bounds checks.',
  },
  ...LORA_OPTIONS,
  'enable-return-hidden-states': {
    kind: 'boolean',
    group: 'Batching',
    help: 'Requests may ask for hidden states.',
    otherwise: 'off',
  },
  'enable-return-routed-experts': {
    kind: 'boolean',
    group: 'Batching',
    help: 'Requests may ask which experts ran.',
    otherwise: 'off',
  },
} as const satisfies OptionTable;

export type EngineOptions = Values<typeof ENGINE_OPTIONS> & Partial<Values<typeof BATCH_OPTIONS>>;

/** The engine's options under the engine's names. */
export function toModelOptions(model: string, given: EngineOptions): TextModelOptions {
  return withoutMissing({
    model,
    revision: given.revision,
    quantization: given.quantization,
    adapter: given.adapter,
    memoryBudget: given['memory-budget'],
    contextLength: given['context-length'],
    maxRunningRequests: given['max-running-requests'],
    maxQueuedRequests: given['max-queued-requests'],
    maxTotalTokens: given['max-total-tokens'],
    prefillChunk: given['prefill-chunk'],
    prefixCache: given['disable-radix-cache'] === undefined ? undefined : !given['disable-radix-cache'],
    hostCache: given['host-cache'],
    storageCache: given['storage-cache'],
    storageCacheBytes: given['storage-cache-size'],
    queueTimeout: milliseconds(given['queue-timeout']),
    totalTimeout: milliseconds(given['request-timeout']),
    ...toLoraOptions(given),
    enableHiddenStates: given['enable-return-hidden-states'],
    enableRoutedExperts: given['enable-return-routed-experts'],
    samplingDefaults: given['sampling-defaults'],
    logprobsMode: given['logprobs-mode'],
    customLogitProcessors: given['enable-custom-logit-processor'],
    toolCallParser: given['tool-call-parser'],
    reasoningParser: given['reasoning-parser'],
    safe: given.safe,
    sleepAfter: milliseconds(given['sleep-idle-seconds']),
  });
}

const milliseconds = (seconds: number | undefined): number | undefined =>
  seconds === undefined ? undefined : Math.ceil(1000 * seconds);

/** Those of them that a diffusion pipeline has. */
export function toPipelineOptions(model: string, given: EngineOptions): ImageModelOptions {
  const { revision, quantization, adapter, safe } = given;
  const memoryBudget = given['memory-budget'];
  const sleepAfter = milliseconds(given['sleep-idle-seconds']);
  return withoutMissing({ model, revision, quantization, adapter, memoryBudget, safe, sleepAfter });
}

/** Those of them that an embedding model has. */
export function toEmbeddingOptions(model: string, given: EngineOptions): EmbeddingModelOptions {
  const contextLength = given['context-length'];
  const maxQueuedRequests = given['max-queued-requests'];
  return withoutMissing({ ...toPipelineOptions(model, given), contextLength, maxQueuedRequests });
}

function withoutMissing<T extends object>(values: T): T {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as T;
}
