// GET /server_info and /model_info: the served models, their settings and their state.

import type { H3Event } from 'h3';
import {
  type EmbeddingModel,
  type ImageModel,
  MODEL_KINDS,
  type TextModel,
  type TranscriptionModel,
} from '../../index.ts';
import { imageLoad } from '../images/image-drawing.ts';
import { visibleSlots } from '../service/caller.ts';
import { findModel } from '../service/models.ts';
import { NOT_OFFERED } from '../responses/response-tools.ts';
import type { Route } from '../service/route.ts';
import { isAsleep, isOf, type Ready, type Service, type Slot } from '../service/service.ts';

const SCHEMAS = [() => import('./server-reply-schema.ts'), () => import('./open-model-schema.ts')];

export const SERVER_INFO: Route = {
  handle: serverInfo,
  summary: 'Version, settings, and the current state of each model.',
  group: 'Server',
  reply: 'ServerInfo',
  schemas: SCHEMAS,
};

export const MODEL_INFO: Route = {
  handle: modelInfo,
  summary: 'Source, class and properties of a model.',
  group: 'Models',
  query: { model: 'A served name; left out, the first model.' },
  reply: 'ModelInfo',
  schemas: [() => import('../service/model-reply-schema.ts')],
};

async function serverInfo(service: Service) {
  const { options, leaving, startedAt, replies, slots } = service;
  const { apiKey, adminApiKey, tls, version, ...settings } = options;
  const shown = visibleSlots(service);
  const first = shown.find(({ phase }) => phase.name === 'ready');
  return {
    ...(first && originOf(first)),
    version,
    status: leaving ? 'stopping' : statusOf(slots),
    started_at: startedAt,
    uptime_seconds: Math.floor(Date.now() / 1000) - startedAt,
    // This count includes the request for /server_info itself.
    open_replies: replies,
    settings: {
      ...settings,
      apiKey: apiKey !== undefined,
      adminApiKey: adminApiKey !== undefined,
      tls: tls !== undefined,
    },
    // Tools of /v1/responses that OpenAI runs itself.
    tools_not_offered: [NOT_OFFERED],
    models: await Promise.all(shown.map((slot) => slotInfo(service, slot))),
  };
}

/** Where a model is from and its name, as SGLang states them and its router reads them. */
function originOf({ names, phase }: Slot) {
  const path = phase.name === 'ready' ? phase.ready.model.info.path : '';
  return { model_path: path, served_model_name: names[0] ?? '' };
}

function statusOf(slots: readonly Slot[]): 'starting' | 'ready' | 'asleep' {
  // Models that are opened on demand answer whether or not they are open.
  if (!slots.every(({ phase, demand }) => demand || phase.name === 'ready')) return 'starting';
  return slots.length > 0 && slots.every(isAsleep) ? 'asleep' : 'ready';
}

async function slotInfo(service: Service, slot: Slot) {
  const { names, kind, phase } = slot;
  const common = {
    names,
    kind: kind?.name ?? null,
    phase: isAsleep(slot) ? ('asleep' as const) : phase.name,
  };
  if (phase.name === 'failed') return { ...common, reason: phase.reason };
  if (phase.name === 'starting') return { ...common, progress: phase.progress };
  if (phase.name === 'unloaded') return { ...common, ...(phase.reason !== null && { reason: phase.reason }) };
  const { ready } = phase;
  const { info } = ready.model;
  if (isOf<ImageModel>(MODEL_KINDS.image, ready))
    return { ...common, info, metrics: imageLoad(service, ready.model) };
  if (!('metrics' in ready.kind.calls)) return { ...common, info };
  // A model that ends while the page is built has no metrics.
  const { model } = ready as unknown as Ready<EmbeddingModel | TextModel | TranscriptionModel>;
  const metrics = await model.metrics().catch(() => null);
  return { ...common, info, metrics };
}

function modelInfo(service: Service, { url }: H3Event) {
  const requested = url.searchParams.get('model') ?? 'default';
  const { kind, model } = findModel(service, Object.values(MODEL_KINDS), requested);
  const { info } = model;
  const slot = service.slots.find(({ phase }) => phase.name === 'ready' && phase.ready.model.info === info);
  return {
    ...(slot && originOf(slot)),
    model_path: info.path,
    served_model_names: slot?.names ?? [],
    is_generation: info.kind === MODEL_KINDS.text.name,
    ...classesOf(info),
    kind: kind.name,
    parameters: info.parameters,
    quantization: info.quantization,
    memory: info.memory,
    adapter: info.adapter.description || info.adapter.device,
    ...ownMembers(info),
  };
}

/** The class of a model and its type, as SGLang and transformers name them. */
function classesOf(info: object) {
  const { architecture, pipeline, modelType } = info as {
    architecture?: string;
    pipeline?: string;
    modelType?: string;
  };
  return {
    model_type: modelType ?? null,
    architectures: [architecture, pipeline].filter((name) => name !== undefined),
  };
}

type Info = (EmbeddingModel | ImageModel | TextModel | TranscriptionModel)['info'];

function ownMembers(info: Info) {
  if (info.kind === 'image') return { pipeline: info.pipeline };
  if (info.kind !== 'transcription') return textMembers(info);
  const { architecture, path, languages } = info;
  return { architecture, tokenizer_path: path, languages };
}

function textMembers(info: { architecture: string; vocabSize: number; contextLength: number; path: string }) {
  const { architecture, vocabSize, contextLength, path } = info;
  return { architecture, tokenizer_path: path, vocab_size: vocabSize, max_model_len: contextLength };
}
