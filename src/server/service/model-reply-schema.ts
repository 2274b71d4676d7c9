// Schemas of the list of models, of one model, and of its source.

import { z } from 'zod';
import { WEIGHT_CHOICES } from '../../options/model.ts';
import { mapSampling, MODEL_SAMPLING } from '../../options/text-request.ts';
import { underFieldNames } from '../body/setting-fields.ts';
import { count, counts, seconds } from '../http/reply-members.ts';

export const ModelStatus = z.strictObject({
  value: z.enum(['unloaded', 'downloading', 'loading', 'loaded', 'sleeping']),
  failed: z
    .literal(true)
    .optional()
    .describe('The last attempt to open it failed; its next request tries again.'),
  error: z.string().optional(),
  progress: z.number().optional().describe('Of the download or the opening, 0 to 1.'),
  note: z.string().optional().describe('What is being done.'),
});

const entry = {
  id: z.string(),
  object: z.literal('model'),
  created: seconds,
  owned_by: z.literal('svc-engine'),
  root: z.string().describe("The model's first name, or a LoRA's folder."),
  parent: z.string().nullable().describe('Of an adapter: its model.'),
  status: ModelStatus,
  kind: z.enum(['text', 'embedding', 'image', 'transcription']).nullable().describe('null: not known yet.'),
  pinned: z.boolean().describe('It is not closed to make room for others.'),
  size: count.nullable().describe('Bytes on disk, where that is known.'),
  memory: count
    .nullable()
    .describe('Bytes on the device, or of a model that is not open those planned; null: unknown.'),
};

const samplingDefault = z.strictObject({
  value: z.number(),
  source: z.enum(['generation_config.json', 'gguf', 'contract']),
});

const languageModel = {
  architecture: z.string().describe('The class, as config.json names it.'),
  weight_formats: z.array(z.string()).describe('Formats of the matrices on the device.'),
};

const textEntry = z.strictObject({
  ...entry,
  ...languageModel,
  max_model_len: count,
  modalities: z.array(z.enum(['text', 'image', 'video', 'audio'])).describe('What messages may hold.'),
  sampling_defaults: z.strictObject(
    underFieldNames(
      mapSampling(() => samplingDefault),
      MODEL_SAMPLING,
      'chat',
    ),
  ),
});

const imageEntry = z.strictObject({
  ...entry,
  pipeline: z.string(),
  size_multiple: count,
  schedulers: z.array(z.string()).describe("The first is the model's own."),
  image_defaults: z.strictObject({
    num_frames: count.optional().describe('Of models that draw clips.'),
    fps: z.number().optional().describe('Frames in a second, of these models.'),
    ...counts('width', 'height', 'num_inference_steps'),
    guidance_scale: z.number(),
    negative_prompt: z.string(),
  }),
});

const embeddingEntry = z.strictObject({
  ...entry,
  ...languageModel,
  ...counts('max_model_len', 'dimensions'),
  pooling: z.enum(['cls', 'mean', 'last']),
  labels: z.array(z.string()).optional().describe('Of a model that classifies.'),
});

const transcriptionEntry = z.strictObject({
  ...entry,
  ...languageModel,
  languages: z.array(z.string()).describe('Codes of the languages that it can be told.'),
});

const paperEntry = z
  .strictObject({
    ...entry,
    architecture: z.string().optional(),
    max_model_len: count.optional(),
    draws_clips: z.literal(true).optional().describe('Unless a request says otherwise.'),
  })
  .describe('Of a model that is not open.');

export const Model = z.union([textEntry, imageEntry, embeddingEntry, transcriptionEntry, paperEntry]);

export const Models = z.strictObject({ object: z.literal('list'), data: z.array(Model) });

const origin = {
  model_path: z.string(),
  served_model_name: z.string().optional().describe('The first of its names.'),
  served_model_names: z.array(z.string()),
  model_type: z.string().nullable().describe('As config.json states it.'),
  architectures: z.array(z.string()).describe('Its class.'),
  parameters: count,
  quantization: z.enum(WEIGHT_CHOICES),
  adapter: z.string().describe('The GPU.'),
};

export const ModelInfo = z.union([
  z.strictObject({
    ...origin,
    kind: z.enum(['text', 'embedding']),
    is_generation: z.boolean(),
    memory: z.strictObject(counts('budget', 'weights', 'kv', 'arena')).describe('Bytes.'),
    architecture: z.string(),
    tokenizer_path: z.string(),
    ...counts('vocab_size', 'max_model_len'),
  }),
  z.strictObject({
    ...origin,
    kind: z.literal('transcription'),
    is_generation: z.literal(false),
    memory: z.strictObject(counts('budget', 'weights', 'kv', 'arena')).describe('Bytes.'),
    architecture: z.string(),
    tokenizer_path: z.string(),
    languages: z.array(z.string()),
  }),
  z.strictObject({
    ...origin,
    kind: z.literal('image'),
    is_generation: z.literal(false),
    memory: z.strictObject(counts('budget', 'weights')).describe('Bytes.'),
    pipeline: z.string(),
  }),
]);
