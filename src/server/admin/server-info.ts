// GET /server_info and /model_info: the served models, their settings and their state.

import type { H3Event } from 'h3';
import { findModel } from '../models.ts';
import { NOT_OFFERED } from '../responses/response-tools.ts';
import type { Service, Slot } from '../service.ts';

export async function serverInfo(service: Service) {
  const { options, slots, stopping, startedAt, replies } = service;
  const { apiKey, adminApiKey, version, ...settings } = options;
  return {
    version,
    status: stopping ? 'stopping' : slots.every(({ phase }) => phase.name === 'ready') ? 'ready' : 'starting',
    started_at: startedAt,
    uptime_seconds: Math.floor(Date.now() / 1000) - startedAt,
    // This count includes the request for /server_info itself.
    open_replies: replies,
    settings: { ...settings, apiKey: apiKey !== undefined, adminApiKey: adminApiKey !== undefined },
    // Tools of /v1/responses that OpenAI runs itself.
    tools_not_offered: [NOT_OFFERED],
    models: await Promise.all(slots.map(slotInfo)),
  };
}

async function slotInfo({ names, kind, phase }: Slot) {
  const common = { names, kind, phase: phase.name };
  if (phase.name === 'failed') return { ...common, reason: phase.reason };
  if (phase.name === 'starting') return { ...common, progress: phase.progress };
  const { ready } = phase;
  const { info } = ready.model;
  if (ready.kind === 'image') return { ...common, info };
  // A model that ends while the page is built has no metrics.
  const metrics = await ready.model.metrics().catch(() => null);
  return { ...common, info, metrics };
}

export function modelInfo(service: Service, { url }: H3Event) {
  const requested = url.searchParams.get('model') ?? 'default';
  const { kind, model } = findModel(service, ['text', 'embedding', 'image'], requested);
  const { info } = model;
  const slot = service.slots.find(({ phase }) => phase.name === 'ready' && phase.ready.model.info === info);
  return {
    model_path: info.path,
    served_model_names: slot?.names ?? [],
    is_generation: kind === 'text',
    kind,
    parameters: info.parameters,
    quantization: info.quantization,
    memory: info.memory,
    adapter: info.adapter.description || info.adapter.device,
    ...('architecture' in info ? textMembers(info) : { pipeline: info.pipeline }),
  };
}

function textMembers(info: { architecture: string; vocabSize: number; contextLength: number; path: string }) {
  const { architecture, vocabSize, contextLength, path } = info;
  return { architecture, tokenizer_path: path, vocab_size: vocabSize, max_model_len: contextLength };
}
