// Schema of an open model in /server_info, under the library's own names: its `info` and its `metrics()`.

import { z } from 'zod';
import type * as engine from '../../index.ts';
import { WEIGHT_CHOICES } from '../../options/model.ts';
import { mapSampling } from '../../options/text-request.ts';
import { count } from '../http/reply-members.ts';

const bytes = count;
const used = z.strictObject({ used: bytes, total: bytes });

export const GpuAdapter = z.strictObject({
  index: z.int(),
  vendor: z.string(),
  architecture: z.string(),
  device: z.string(),
  description: z.string(),
  software: z.boolean(),
  features: z.array(z.string()),
  limits: z.record(z.string(), z.number()),
  subgroupMinSize: count,
  subgroupMaxSize: count,
  matrixUnit: z.union([
    z.string(),
    z.strictObject({
      rows: count,
      columns: count,
      depth: count,
      subgroup: count,
      pinned: z.boolean(),
      emulated: z.boolean().optional(),
    }),
  ]),
});

const common = {
  path: z.string(),
  name: z.string(),
  parameters: count,
  quantization: z.enum(WEIGHT_CHOICES),
  adapter: GpuAdapter,
};

const pagedMemory = z.strictObject({ budget: bytes, weights: bytes, kv: bytes, arena: bytes });

/** An object with a value per sampling setting. */
const samplingOf = <T extends z.ZodType>(value: T) => z.strictObject(mapSampling(() => value));

export const TextModelInfo = z.strictObject({
  kind: z.literal('text'),
  ...common,
  architecture: z.string(),
  modelType: z.string().optional(),
  weightFormats: z.array(z.string()),
  vocabSize: count,
  contextLength: count,
  modelContextLength: count,
  maxRunningRequests: count,
  maxQueuedRequests: count,
  memory: pagedMemory,
  storageBackend: z.string().nullable(),
  sampling: samplingOf(z.number()),
  samplingSource: samplingOf(z.enum(['generation_config.json', 'gguf', 'contract'])),
  media: z.array(z.enum(['image', 'video', 'audio'])),
  hasChatTemplate: z.boolean(),
  outputFormat: z.strictObject({ tools: z.string().nullable(), reasoning: z.string().nullable() }),
}) satisfies z.ZodType<engine.TextModelInfo>;

export const TextMetrics = z.strictObject({
  running: count,
  waiting: count,
  pages: z.strictObject({
    used: count,
    cached: count,
    total: count,
    tokensPerPage: count,
    bytesPerPage: bytes,
  }),
  cache: z.strictObject({
    lookedUp: count,
    hitRate: z.number(),
    device: count,
    host: count,
    storage: count,
    storageBackend: z.string().optional(),
    evicted: count,
    backedUp: count,
    loadedBack: count,
    fetched: count,
    hostBytes: used,
    storageBytes: used.nullable(),
  }),
  grammars: z.strictObject({
    asked: count,
    known: count,
    refused: count,
    timedOut: count,
    compiling: count,
  }),
  adapters: z.strictObject({ loaded: count, most: count }).describe('Of LoRA.'),
  steps: count,
  sharedSteps: count,
  promptTokens: count,
  generatedTokens: count,
  retractions: count,
  deviceRestarts: count,
  towers: z.strictObject({ deviceBytes: bytes, hostBytes: bytes }).optional(),
}) satisfies z.ZodType<engine.TextMetrics>;

export const EmbeddingModelInfo = z.strictObject({
  kind: z.literal('embedding'),
  ...common,
  architecture: z.string(),
  modelType: z.string().optional(),
  weightFormats: z.array(z.string()),
  vocabSize: count,
  dimensions: count,
  pooling: z.enum(['cls', 'mean', 'last']),
  normalized: z.boolean(),
  contextLength: count,
  maxQueuedRequests: count,
  memory: pagedMemory,
}) satisfies z.ZodType<engine.EmbeddingModelInfo>;

export const EmbeddingMetrics = z.strictObject({
  waiting: count,
  texts: count,
  promptTokens: count,
  steps: count,
  deviceRestarts: count,
}) satisfies z.ZodType<engine.EmbeddingMetrics>;

export const ImageModelInfo = z.strictObject({
  kind: z.literal('image'),
  ...common,
  pipeline: z.string(),
  denoiser: z.string(),
  backend: z.enum(['svc', 'generic']),
  sizeMultiple: count,
  unreadClipLayers: count,
  defaults: z.strictObject({
    width: count,
    height: count,
    steps: count,
    guidance: z.number(),
    negativePrompt: z.string(),
  }),
  schedulers: z.array(z.string()),
  components: z.record(z.string(), z.string()),
  words: count.nullable(),
  supports: z.strictObject({
    imageToImage: z.boolean(),
    inpainting: z.boolean(),
    negativePrompt: z.boolean(),
    edits: count,
  }),
  memory: z.strictObject({ budget: bytes, weights: bytes }),
}) satisfies z.ZodType<engine.ImageModelInfo>;
