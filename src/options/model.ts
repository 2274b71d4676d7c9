// The settings for opening a model: how weights are loaded, on which device they run, and how requests share that device.

import { JUDGING } from './judging.ts';
import { KV_CACHE_FORMATS } from './kv-cache-formats.ts';
import { DEFAULTS, LIMITS } from './limits.ts';
import { MEDIA_BOUNDS } from './media.ts';
import { REPLICAS } from './ranks.ts';
import { type ModelKind, rowsWith, type Settings } from './setting.ts';
import { SPECULATION } from './speculation.ts';

const ALL = ['text', 'embedding', 'image', 'transcription'] as const satisfies ModelKind[];
const TOKENS = ['text', 'embedding'] as const satisfies ModelKind[];
const TEXT = ['text'] as const satisfies ModelKind[];

/** Values of `quantization`: `none`, or a format of kernels/formats.ts to which weights are packed while they are loaded. */
export const WEIGHT_CHOICES = ['none', 'int8', 'int4'] as const;

export { KV_CACHE_FORMATS, type KvCacheFormat } from './kv-cache-formats.ts';

/** Values of `activationDtype`. */
export const ACTIVATION_CHOICES = ['float', 'int8'] as const;

/** Settings of loading a model, which a single user has too; of language models, where a row does not say otherwise. */
export const LOADING = rowsWith(
  { models: TEXT },
  {
    revision: {
      kind: { type: 'text' },
      help: 'Branch, tag or commit on the hub.',
      models: ALL,
      flag: { group: 'Model', value: 'name', otherwise: "the hub's own" },
    },
    quantization: {
      kind: { type: 'choice', choices: [...WEIGHT_CHOICES, 'auto'] },
      help: 'Weights as stored, or packed smaller while loading; auto takes the largest that fits the budget.',
      default: 'none',
      models: ALL,
      flag: { group: 'Model' },
    },
    mmproj: {
      kind: { type: 'text' },
      help: 'GGUF file of the tower with which a GGUF model reads images or sounds, or owner/name:FILE.',
      flag: { group: 'Model', value: 'path', otherwise: 'the mmproj file beside the model' },
    },
    ...SPECULATION,
    ...JUDGING,
    /** Default: the model's context length, shortened if memory is too small. */
    contextLength: {
      kind: { type: 'integer', min: 1, max: 2 ** 31 - 1 },
      help: 'Tokens of prompt and answer together.',
      models: TOKENS,
      flag: {
        group: 'Model',
        otherwise: "the model's, shortened to fit memory",
        elsewhere: ['ctx-size', 'c', 'num-ctx', 'max-model-len'],
      },
    },
    samplingDefaults: {
      kind: { type: 'choice', choices: ['model', 'contract'] },
      help: 'Where temperature and the like come from: from generation_config.json where it has them (model), or from the defaults of the interface alone (contract).',
      default: 'model',
      flag: { group: 'Model' },
    },
    logprobsMode: {
      kind: { type: 'choice', choices: ['raw', 'processed'] },
      help: 'Log probabilities are those of the model, or of what is sampled from: after penalties, masks and temperature.',
      default: 'raw',
      flag: { group: 'Model' },
    },
    jsonSchemaMode: {
      kind: { type: 'choice', choices: ['declared', 'whole'] },
      help: 'JSON Schemas of requests that do not say strict: properties in declared order and no undeclared ones, or all that the schema allows.',
      default: 'declared',
      flag: { group: 'Model' },
    },
    toolCallParser: {
      kind: { type: 'text' },
      help: 'How the model writes tool calls: hermes, llama3, mistral …, or none; a wrong name lists them all.',
      flag: { group: 'Model', value: 'format', otherwise: 'what its chat template shows' },
    },
    reasoningParser: {
      kind: { type: 'text' },
      help: 'How it marks its reasoning: think, deepseek_r1, mistral …, or none.',
      flag: { group: 'Model', value: 'format', otherwise: 'what its chat template shows' },
    },
    adapter: {
      kind: { type: 'adapter' },
      help: 'Part of an adapter name, or its number in `npx svc-engine doctor`.',
      models: ALL,
      flag: { group: 'Device', value: 'name|n', otherwise: 'the fastest' },
    },
    /** Size in bytes. */
    memoryBudget: {
      kind: { type: 'bytes' },
      help: 'Memory of each model for weights, cache and scratch together.',
      models: ALL,
      flag: {
        group: 'Device',
        otherwise: 'a share of free memory on software adapters, else what the GPU gives',
        elsewhere: ['mem-fraction-static', 'gpu-memory-utilization'],
      },
    },
    layerwiseOffload: {
      kind: { type: 'boolean' },
      help: 'Layers that the memory budget has no room for stay in host memory, or in a file where that is short, and each step copies them to the device.',
      flag: { group: 'Device', otherwise: 'off', elsewhere: ['n-gpu-layers', 'ngl', 'cpu-offload-gb'] },
    },
    cpuMoe: {
      kind: { type: 'boolean' },
      help: 'Experts that the memory budget has no room for stay in host memory, or in a file where that is short: the device has slots for some of each layer, and a step copies those of its experts that are in none. Replies are the same.',
      flag: { group: 'Device', otherwise: 'off', aliases: ['cmoe'] },
    },
    cpuMoeLayers: {
      kind: { type: 'integer', min: 0 },
      help: 'Like cpu-moe, with the experts of so many first layers alone.',
      flag: { group: 'Device', otherwise: '0', aliases: ['n-cpu-moe', 'ncmoe'] },
    },
    cpuMoeSlots: {
      kind: { type: 'integer', min: 1 },
      help: 'Slots on the device for the experts of each such layer.',
      flag: { group: 'Device', otherwise: 'as many as the memory budget has room for' },
    },
    safe: {
      kind: { type: 'boolean' },
      help: "The GPU layer's validation and bounds checks on; slower.",
      models: ALL,
      flag: { group: 'Device', otherwise: 'off' },
    },
    kvCacheDtype: {
      kind: { type: 'choice', choices: ['auto', ...KV_CACHE_FORMATS] },
      help: 'Keys and values of the context: auto is f16, or f32 for a model stored in f32. int8 and fp8_e4m3 take about half the memory of f16, int4 about a quarter, and change what a model says: int8 least, int4 most.',
      default: 'auto',
      flag: {
        ...{ group: 'Device', elsewhere: ['cache-type-k', 'cache-type-v', 'ctk', 'ctv'] },
        words: { q8_0: 'int8', q4_0: 'int4', fp8: 'fp8_e4m3' },
      },
    },
    deterministic: {
      kind: { type: 'boolean' },
      help: 'A prompt computed at once gives the same bits as its tokens one by one; slower on GPUs. Software adapters always do so.',
      flag: { group: 'Device', otherwise: 'off', elsewhere: ['enable-deterministic-inference'] },
    },
    activationDtype: {
      kind: { type: 'choice', choices: [...ACTIVATION_CHOICES] },
      help: "int8 rounds what quantized weights are multiplied by to 8 bits, in blocks of 32: faster on most GPUs with integer dot products, and other replies than with float. For int8, int4, GGUF's Q formats, GPTQ, AWQ, LLM.int8 and MLX; weights in f16, bf16, FP8, FP4, NF4, IQ4 and LoRA stay with float, and so do prompts on matrix units, but for experts. Software adapters refuse it.",
      default: 'float',
      flag: { group: 'Device' },
    },
  },
);

/** Settings for sharing a model among many requests, as in servers; of language models, where a row does not say otherwise. */
export const SHARING = rowsWith(
  { models: TEXT },
  {
    maxRunningRequests: {
      kind: { type: 'integer', min: 1, max: LIMITS.runningRequests },
      help: 'Requests computed together.',
      default: DEFAULTS.runningRequests,
      flag: { group: 'Batching', elsewhere: ['max-num-seqs', 'parallel', 'np'] },
    },
    maxQueuedRequests: {
      kind: { type: 'integer', min: 0 },
      help: 'Requests that may wait for a model; more get 429.',
      default: DEFAULTS.queuedRequests,
      models: [...TOKENS, 'transcription'],
      flag: { group: 'Batching' },
    },
    /** Default: the largest number that fits the memory budget. */
    maxTotalTokens: {
      kind: { type: 'integer', min: LIMITS.leastTotalTokens },
      help: 'Tokens that the KV cache holds for all requests together.',
      flag: { group: 'Batching', otherwise: 'what the memory budget leaves' },
    },
    prefillChunk: {
      kind: { type: 'integer', min: LIMITS.prefillChunk.least, max: LIMITS.prefillChunk.most },
      help: 'Prompt tokens computed in one step.',
      flag: {
        group: 'Batching',
        otherwise: 'chosen for the adapter',
        elsewhere: ['chunked-prefill-size', 'max-num-batched-tokens', 'ubatch-size'],
      },
    },
    /** false: products in steps of many requests take the kernels that are fastest for them on GPUs. Default: true. */
    batchInvariance: {
      kind: { type: 'boolean' },
      help: 'On GPUs, products in steps of more than 16 requests may use the kernels of prompts where those are faster: a reply may then depend on which requests are computed beside it.',
      flag: {
        name: 'disable-batch-invariance',
        group: 'Batching',
        otherwise: 'off',
        negates: true,
      },
    },
    /** false: requests do not share cached prompts. Default: true. */
    prefixCache: {
      kind: { type: 'boolean' },
      help: 'No request uses what was computed for another.',
      flag: { name: 'disable-radix-cache', group: 'Batching', otherwise: 'off', negates: true },
    },
    /** Size in bytes. */
    hostCache: {
      kind: { type: 'bytes' },
      help: 'Host memory for prompts that the KV cache has no room for.',
      flag: { group: 'Batching', otherwise: 'none', elsewhere: ['hicache-size'] },
    },
    /** `file`, a folder, or a redis:// address. */
    storageCache: {
      kind: { type: 'text' },
      help: "Keeps prompts beyond the program's end: in files, or in Redis or Valkey (needs the package ioredis).",
      flag: { group: 'Batching', value: 'file|folder|redis://...', otherwise: 'none' },
    },
    /** Size in bytes; each open model counts its own files, even in a shared folder. */
    storageCacheBytes: {
      kind: { type: 'bytes' },
      help: 'Bytes that files of prompts may take, for each open model; needs --storage-cache.',
      flag: {
        name: 'storage-cache-size',
        group: 'Batching',
        otherwise: `${DEFAULTS.storedBytes / 1e9}GB`,
      },
    },
    /** Time in milliseconds. */
    queueTimeout: {
      kind: { type: 'duration' },
      help: 'How long a request may wait for a place; then it gets 503.',
      flag: { group: 'Batching', otherwise: 'any time' },
    },
    /** Time in milliseconds. */
    totalTimeout: {
      kind: { type: 'duration' },
      help: 'How long a request may take in all; then it gets 503, with what was said until then.',
      flag: { name: 'request-timeout', group: 'Batching', otherwise: 'any time' },
    },
    /** Idle time in milliseconds after which the model is unloaded; the next request opens it again. Default: it stays loaded. */
    sleepAfter: {
      kind: { type: 'duration' },
      help: 'A model that nobody asks for so long leaves the device; its next request opens it again, and waits.',
      models: ALL,
      flag: { name: 'sleep-idle-seconds', group: 'Device', otherwise: 'models stay' },
    },
    customLogitProcessors: {
      kind: { type: 'boolean' },
      help: 'Requests may bring WGSL functions that change logits; kernels then run with bounds checks.',
      flag: { name: 'enable-custom-logit-processor', group: 'Batching' },
    },
    /** NAME=PATH, or a path whose last segment is the name. Requests may name them, and their folders. */
    loraPaths: {
      kind: { type: 'list', of: { type: 'text' } },
      help: 'LoRAs to load; a request names one by lora_path, or by model as base:name.',
      flag: {
        group: 'Model',
        value: 'name=folder,...',
        otherwise: 'none',
        elsewhere: ['lora', 'lora-modules'],
      },
    },
    loraDir: {
      kind: { type: 'text' },
      help: 'Folder whose LoRAs requests may name; they are loaded when they are.',
      models: ['text', 'image'],
      flag: { group: 'Model', value: 'folder', otherwise: 'none' },
    },
    maxLoras: {
      kind: { type: 'integer', min: 1, max: LIMITS.loras },
      help: 'LoRAs loaded at once.',
      default: DEFAULTS.adapters,
      flag: { group: 'Model' },
    },
    maxLoraRank: {
      kind: { type: 'integer', min: 1, max: LIMITS.loraRank },
      help: 'Largest rank of a LoRA.',
      default: DEFAULTS.adapterRank,
      flag: { group: 'Model' },
    },
    enableHiddenStates: {
      kind: { type: 'boolean' },
      help: 'Requests may ask for hidden states.',
      flag: { name: 'enable-return-hidden-states', group: 'Batching', otherwise: 'off' },
    },
    enableRoutedExperts: {
      kind: { type: 'boolean' },
      help: 'Requests may ask which experts ran.',
      flag: { name: 'enable-return-routed-experts', group: 'Batching', otherwise: 'off' },
    },
  },
);

/** Settings that only programs can give: they have no flag and no field. */
export const PROGRAM = {
  inline: {
    kind: { type: 'boolean' },
    help: "Run in the caller's thread instead of a worker.",
    models: ALL,
  },
} as const satisfies Settings;

/** All settings for opening a model, except its folder or id. */
export const MODEL_SETTINGS = { ...LOADING, ...SHARING, ...REPLICAS, ...MEDIA_BOUNDS, ...PROGRAM };
