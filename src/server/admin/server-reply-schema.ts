// Schemas of /server_info and the health probes.

import { z } from 'zod';
import type * as engine from '../../index.ts';
import {
  EmbeddingMetrics,
  EmbeddingModelInfo,
  ImageModelInfo,
  TextMetrics,
  TextModelInfo,
  TranscriptionMetrics,
  TranscriptionModelInfo,
} from './open-model-schema.ts';
import { count, counts, seconds, typed } from '../http/reply-members.ts';

export const OpeningProgress = z
  .discriminatedUnion('type', [
    typed('download', {
      file: z.string(),
      ...counts('bytes', 'totalBytes'),
      resumedPercent: z.number().optional(),
    }),
    typed('load', counts('bytes', 'totalBytes')),
    typed('warmup', { ...counts('done', 'total'), stage: z.string().optional() }),
    typed('tune', { ...counts('done', 'total'), stage: z.string() }),
  ])
  .describe('How far the opening of a model has come.') satisfies z.ZodType<engine.OpenEvent>;

const names = z.array(z.string());
const kind = z
  .enum(['text', 'image', 'embedding', 'transcription'])
  .nullable()
  .describe('null: not known before it is open.');
const ready = {
  names,
  phase: z
    .enum(['ready', 'asleep'])
    .describe('asleep: has left its device; its next request opens it again.'),
};

const model = z.union([
  z.strictObject({
    ...ready,
    kind: z.literal('text'),
    info: TextModelInfo,
    metrics: TextMetrics.nullable().describe('null where it has just ended.'),
  }),
  z.strictObject({
    ...ready,
    kind: z.literal('embedding'),
    info: EmbeddingModelInfo,
    metrics: EmbeddingMetrics.nullable(),
  }),
  z.strictObject({
    ...ready,
    kind: z.literal('transcription'),
    info: TranscriptionModelInfo,
    metrics: TranscriptionMetrics.nullable(),
  }),
  z.strictObject({
    ...ready,
    kind: z.literal('image'),
    info: ImageModelInfo,
    metrics: z.strictObject(counts('running', 'waiting')).describe('Requests.'),
  }),
  z.strictObject({ names, kind, phase: z.literal('starting'), progress: OpeningProgress.nullable() }),
  z.strictObject({ names, kind, phase: z.literal('failed'), reason: z.string() }),
  z
    .strictObject({ names, kind, phase: z.literal('unloaded'), reason: z.string().optional() })
    .describe('Its next request opens it; `reason`: why the last one could not.'),
]);

export const ServerInfo = z.strictObject({
  version: z.string().optional(),
  model_path: z.string().optional().describe('Of the first model that is open, as is its name.'),
  served_model_name: z.string().optional(),
  status: z.enum(['starting', 'ready', 'asleep', 'stopping']).describe('asleep: every model is.'),
  started_at: seconds,
  uptime_seconds: count,
  open_replies: count.describe('This one is counted too.'),
  settings: z.strictObject({
    host: z.string(),
    port: count,
    apiKey: z.boolean().describe('Whether there is one.'),
    adminApiKey: z.boolean().describe('Whether there is one.'),
    tls: z.boolean().describe('Whether it speaks HTTPS.'),
    apiKeyFile: z.string().optional(),
    unixSocket: z.string().optional(),
    outputPath: z.string().optional(),
    web: z.boolean().optional().describe('Whether / shows the web page.'),
    mcpOrigins: z.array(z.string()).optional(),
    corsOrigins: z.array(z.string()).optional(),
    strict: z.boolean().optional(),
    maxQueuedImages: count.optional(),
    keepAlive: z.number().optional().describe('Milliseconds.'),
    drainTime: z.number().optional().describe('Milliseconds.'),
    drainDelay: z.number().optional().describe('Milliseconds.'),
    receiveTime: z.number().optional().describe('Milliseconds.'),
    media: z
      .looseObject({})
      .optional()
      .describe('How media are fetched: --max-media-bytes, --media-timeout and the others.'),
  }),
  tools_not_offered: z
    .array(z.string())
    .describe('Tools that /v1/responses takes, as OpenAI runs them itself, and that no model is offered.'),
  models: z.array(model),
});

export const Loads = z.array(
  z.strictObject({
    dp_rank: count.describe('Number of the replica, over all models.'),
    num_reqs: count.describe('Sequences that run or wait.'),
    num_waiting_reqs: count,
    num_tokens: count.describe('Tokens that the pages of running requests can hold.'),
    max_total_num_tokens: count,
  }),
);

export const Ready = z.strictObject({
  status: z.enum(['ready', 'asleep']).describe('asleep: every model is.'),
  models: names,
  asleep: names
    .optional()
    .describe('Those that have left their device; their next request opens them again.'),
});

export const NotReady = z.union([
  z.strictObject({
    status: z.literal('starting'),
    progress: OpeningProgress.nullable(),
    models: names.optional().describe('Those that are ready.'),
  }),
  z.strictObject({ status: z.literal('stopping') }),
]);

export const Alive = z.strictObject({ status: z.literal('alive') });
