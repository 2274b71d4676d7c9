// Schema of an open model in /server_info, under the library's own names: its `info` and its `metrics()`.

import { z } from 'zod';
import type * as engine from '../../index.ts';
import { KV_CACHE_FORMATS, WEIGHT_CHOICES } from '../../options/model.ts';
import { mapSampling } from '../../options/text-request.ts';
import { count, counts, texts } from '../http/reply-members.ts';

const used = z.strictObject(counts('used', 'total'));

export const GpuAdapter = z.strictObject({
  index: z.int(),
  ...texts('vendor', 'architecture', 'device', 'description'),
  software: z.boolean(),
  features: z.array(z.string()),
  limits: z.record(z.string(), z.number()),
  ...counts('subgroupMinSize', 'subgroupMaxSize'),
  matrixUnit: z.union([
    z.string(),
    z.strictObject({
      ...counts('rows', 'columns', 'depth', 'subgroup'),
      pinned: z.boolean(),
      emulated: z.boolean().optional(),
    }),
  ]),
});

const common = {
  ...texts('path', 'name'),
  parameters: count,
  quantization: z.enum(WEIGHT_CHOICES),
  adapter: GpuAdapter,
};

/** Members of language models. */
const languageModel = {
  ...common,
  architecture: z.string(),
  modelType: z.string().optional(),
  weightFormats: z.array(z.string()),
  ...counts('vocabSize', 'contextLength', 'maxQueuedRequests'),
  memory: z.strictObject(counts('budget', 'weights', 'kv', 'arena')),
};

/** An object with a value per sampling setting. */
const samplingOf = <T extends z.ZodType>(value: T) => z.strictObject(mapSampling(() => value));

const asked = z.strictObject({ user: z.string(), reply: z.string() });
const ways = z.strictObject({ known: asked, unknown: asked });
const transcriptionForm = z
  .strictObject({
    ...{
      transcribe: ways,
      translate: ways.nullable(),
      takesPrompt: z.boolean(),
      marker: z.string().nullable(),
    },
  })
  .describe('How the text of a sound is asked for; left out: the model hears none.');

export const TextModelInfo = z.strictObject({
  kind: z.literal('text'),
  ...languageModel,
  kvCacheDtype: z.enum(KV_CACHE_FORMATS),
  ...counts('modelContextLength', 'maxRunningRequests'),
  replicas: count.optional().describe('Of several: memory and limits are those of all together.'),
  storageBackend: z.string().nullable(),
  sampling: samplingOf(z.number()),
  samplingSource: samplingOf(z.enum(['generation_config.json', 'gguf', 'contract'])),
  media: z.array(z.enum(['image', 'video', 'audio'])),
  transcription: transcriptionForm.optional(),
  hasChatTemplate: z.boolean(),
  outputFormat: z.strictObject({ tools: z.string().nullable(), reasoning: z.string().nullable() }),
}) satisfies z.ZodType<engine.TextModelInfo>;

export const TextMetrics = z.strictObject({
  ...counts('running', 'waiting', 'steps', 'sharedSteps', 'promptTokens', 'generatedTokens'),
  ...counts('retractions', 'deviceRestarts'),
  pages: z.strictObject(counts('used', 'cached', 'total', 'tokensPerPage', 'bytesPerPage')),
  cache: z.strictObject({
    ...counts('lookedUp', 'device', 'host', 'storage', 'evicted', 'backedUp', 'loadedBack', 'fetched'),
    hitRate: z.number(),
    storageBackend: z.string().optional(),
    hostBytes: used,
    storageBytes: used.nullable(),
  }),
  grammars: z.strictObject(counts('asked', 'known', 'refused', 'timedOut', 'compiling')),
  adapters: z.strictObject(counts('loaded', 'most')).describe('Of LoRA.'),
  speculation: z.strictObject(counts('drafts', 'proposed', 'accepted')).optional(),
  towers: z.strictObject(counts('deviceBytes', 'hostBytes')).optional(),
  experts: z.strictObject(counts('layers', 'slots', 'experts', 'hits', 'misses', 'bytes')).optional(),
  replicas: z
    .array(
      z.strictObject({
        adapter: z.string(),
        ...counts('running', 'waiting', 'promptTokens', 'generatedTokens', 'deviceRestarts'),
        pages: z.strictObject(counts('used', 'cached', 'total')),
        hitRate: z.number(),
      }),
    )
    .optional()
    .describe('Each of several replicas; the other members are sums.'),
}) satisfies z.ZodType<engine.TextMetrics>;

export const EmbeddingModelInfo = z.strictObject({
  kind: z.literal('embedding'),
  ...languageModel,
  dimensions: count,
  pooling: z.enum(['cls', 'mean', 'last']),
  normalized: z.boolean(),
  classifier: z
    .strictObject({
      per: z.enum(['text', 'token']),
      labels: z.array(z.string()),
      activation: z.enum(['softmax', 'sigmoid', 'none']),
    })
    .optional(),
  isUnstated: z
    .literal(true)
    .optional()
    .describe('A language model whose files say nothing about vectors: it does not rank.'),
  tasks: z.array(z.string()).optional().describe('What vectors may be for, by `task` of a request.'),
}) satisfies z.ZodType<engine.EmbeddingModelInfo>;

export const EmbeddingMetrics = z.strictObject(
  counts('waiting', 'texts', 'promptTokens', 'steps', 'deviceRestarts'),
) satisfies z.ZodType<engine.EmbeddingMetrics>;

export const TranscriptionModelInfo = z.strictObject({
  kind: z.literal('transcription'),
  ...common,
  memory: z.strictObject(counts('budget', 'weights', 'kv', 'arena')).describe('Bytes.'),
  architecture: z.string(),
  weightFormats: z.array(z.string()),
  languages: z.array(z.string()),
  translates: z.boolean(),
  writesTimes: z.boolean(),
  timesWords: z.boolean(),
  windowSeconds: z.number(),
  ...counts('maxRunningRequests', 'maxQueuedRequests'),
}) satisfies z.ZodType<engine.TranscriptionModelInfo>;

export const TranscriptionMetrics = z.strictObject(
  counts('waiting', 'windows', 'generatedTokens', 'deviceRestarts'),
) satisfies z.ZodType<engine.TranscriptionMetrics>;

export const ImageModelInfo = z.strictObject({
  kind: z.literal('image'),
  ...common,
  ...texts('pipeline', 'denoiser'),
  backend: z.enum(['svc', 'generic']),
  ...counts('sizeMultiple', 'unreadClipLayers'),
  defaults: z.strictObject({
    ...counts('width', 'height', 'steps'),
    frames: count.optional(),
    fps: z.number().optional(),
    guidance: z.number(),
    negativePrompt: z.string(),
  }),
  frameMultiple: count
    .nullable()
    .describe('The number of frames exceeds one by a multiple of it; null: the model draws images.'),
  schedulers: z.array(z.string()),
  components: z.record(z.string(), z.string()),
  words: count.nullable(),
  loras: z
    .strictObject({
      given: z.array(z.strictObject({ name: z.string(), scale: z.number() })),
      hasFolder: z.boolean().describe('Whether requests may name those in --lora-dir.'),
    })
    .optional()
    .describe('LoRAs that lora_path may name, where there are some.'),
  supports: z.strictObject({
    imageToImage: z.boolean(),
    inpainting: z.boolean(),
    negativePrompt: z.boolean(),
    edits: count,
  }),
  memory: z.strictObject(counts('budget', 'weights')),
  upscaler: z
    .strictObject({ path: z.string(), scale: z.number() })
    .nullable()
    .describe('The network that enlarges results, and its own scale.'),
}) satisfies z.ZodType<engine.ImageModelInfo>;
