// Models in Ollama's interface: GET /api/tags, /api/ps and /api/version, POST /api/show.

import { type EmbeddingModel, MODEL_KINDS, type SamplingOptions, type TextModel } from '../../index.ts';
import { fieldError } from '../http/errors.ts';
import { fieldName } from '../../options/setting.ts';
import { mapSampling } from '../../options/text-request.ts';
import type { OnDemandModel } from '../catalog/on-demand-model.ts';
import { visibleSlots } from '../service/caller.ts';
import { lorasOf } from '../service/model-status.ts';
import { findModel, splitName } from '../service/models.ts';
import { bodyRoute } from '../service/route.ts';
import { isOf, requireRunning, type Service } from '../service/service.ts';
import { findSlot } from '../service/use-model.ts';
import { digestOf, identityOf, paperEntry, paperModels, paperProperties } from './ollama-paper.ts';
import { OLLAMA, SHOW_FIELDS } from './ollama-schema.ts';

/**
 * The version of Ollama whose interface this is. Clients infer supported routes from it; Codex requires the version that introduced
 * /v1/responses.
 */
const INTERFACE = '0.13.4';
/** A date beyond any clock: the model stays, or the time at which it will sleep is not known, because each request postpones it. */
const NEVER = '9999-12-31T23:59:59Z';

type Served = TextModel | EmbeddingModel;

interface Listed {
  name: string;
  model: Served;
  demand: OnDemandModel | undefined;
}

/** When a model is closed if nobody asks for it. */
function expiryOf(demand: OnDemandModel | undefined): string {
  if (!demand || demand.isPinned) return NEVER;
  const { expiresAt, keepAlive, uses } = demand;
  if (expiresAt !== null) return new Date(expiresAt).toISOString();
  // While requests run, the time begins when the last one ends.
  const isTimed = uses > 0 && keepAlive !== null && keepAlive !== Infinity;
  return isTimed ? new Date(Date.now() + keepAlive).toISOString() : NEVER;
}

export function ollamaVersion({ options }: Service) {
  return { version: INTERFACE, svc_engine: options.version };
}

/**
 * Lists the text and embedding models that are ready, under all their names, with their adapters. Clients look for names with tags.
 */
async function listed(service: Service): Promise<Listed[]> {
  requireRunning(service);
  const found = await Promise.all(
    visibleSlots(service).map(async ({ names, phase, demand }) => {
      if (phase.name !== 'ready') return [];
      const { ready } = phase;
      const isText = isOf<TextModel>(MODEL_KINDS.text, ready);
      if (!isText && !isOf<EmbeddingModel>(MODEL_KINDS.embedding, ready)) return [];
      const { model } = ready;
      const adapters = isText ? await lorasOf(ready.model) : [];
      const all = [...names, ...adapters.map(({ name }) => `${names[0]}:${name}`)];
      return all.map((name) => ({ name: tagged(name), model, demand }));
    }),
  );
  return found.flat();
}

const tagged = (name: string): string => (name.includes(':') ? name : `${name}:latest`);

export async function ollamaTags(service: Service) {
  await service.onDemand?.catalog.refresh();
  const models = await listed(service);
  return {
    models: [
      ...models.map(({ name, model, demand }) => ({
        ...entryOf(name, model, demand),
        modified_at: timeOf(service),
        size: demand?.found.bytes ?? model.info.memory.weights,
      })),
      ...paperModels(service).map((demand) => ({
        ...paperEntry(tagged(demand.name), demand),
        modified_at: timeOf(service),
        size: demand.found.bytes,
      })),
    ],
  };
}

export async function ollamaRunning(service: Service) {
  const models = (await listed(service)).filter(({ model }) => !model.asleep);
  return {
    models: models.map(({ name, model, demand }) => {
      const { memory, adapter, contextLength } = model.info;
      const size = memory.weights + memory.kv + memory.arena;
      return {
        ...entryOf(name, model, demand),
        size,
        size_vram: adapter.software ? 0 : size,
        context_length: contextLength,
        expires_at: expiryOf(demand),
      };
    }),
  };
}

export const SHOW = bodyRoute(
  { summary: 'Properties and capabilities of a model.', ...OLLAMA, fields: SHOW_FIELDS, reply: 'OllamaShow' },
  ({ service, body }) => show(service, body.model ?? body.name),
);

async function show(service: Service, requested: string | undefined) {
  if (requested === undefined) {
    throw fieldError('model', 'is required; GET /api/tags lists the names', 'missing_required_parameter');
  }
  const { base } = splitName(service, requested);
  const kinds = [MODEL_KINDS.text, MODEL_KINDS.embedding];
  const { demand, phase } = await findSlot(service, kinds, base);
  const isOpen = !demand || phase.name === 'ready';
  // A model that was open before is known as well as one that is.
  const info = isOpen ? findModel(service, kinds, base).model.info : (demand.info as Served['info'] | null);
  if (!info) return { ...paperProperties(demand!), modified_at: timeOf(service) };
  const isText = info.kind === 'text';
  return {
    ...(isText && { parameters: parametersOf(info.sampling) }),
    details: detailsOf({ info }),
    model_info: {
      'general.architecture': info.architecture,
      'general.basename': info.name,
      'general.parameter_count': info.parameters,
      [`${info.architecture}.context_length`]: info.contextLength,
      [`${info.architecture}.vocab_size`]: info.vocabSize,
      ...(!isText && { [`${info.architecture}.embedding_length`]: info.dimensions }),
    },
    capabilities: isText ? capabilitiesOf(info) : ['embedding'],
    modified_at: timeOf(service),
  };
}

const timeOf = ({ startedAt }: Service): string => new Date(1000 * startedAt).toISOString();

/** `demand`: the model in the catalog, whose digest is the same whether or not it is open. */
function entryOf(name: string, model: Served, demand?: OnDemandModel) {
  const { info } = model;
  const identity = demand
    ? identityOf(demand)
    : [info.path, info.architecture, info.parameters, info.quantization];
  return { name, model: name, digest: digestOf(name, identity), details: detailsOf(model) };
}

function detailsOf({ info: { architecture, parameters, quantization } }: Pick<Served, 'info'>) {
  return {
    parent_model: '',
    format: 'safetensors',
    family: architecture,
    families: [architecture],
    parameter_size: sizeText(parameters),
    quantization_level: quantization,
  };
}

/** A count as 7.6B or 135M. */
function sizeText(parameters: number): string {
  const [unit, letter] = parameters >= 1e9 ? [1e9, 'B'] : parameters >= 1e6 ? [1e6, 'M'] : [1e3, 'K'];
  return `${Number((parameters / unit).toPrecision(3))}${letter}`;
}

/** Sampling values, one per line, under the names of `options`. */
function parametersOf(sampling: Required<SamplingOptions>): string {
  const lines = mapSampling((name, setting) => `${fieldName(name, setting, 'ollama')} ${sampling[name]}`);
  return Object.values(lines).join('\n');
}

function capabilitiesOf({ media, outputFormat: { tools, reasoning } }: TextModel['info']): string[] {
  const vision = media.includes('image') ? ['vision'] : [];
  return [
    'completion',
    ...vision,
    ...(tools === null ? [] : ['tools']),
    ...(reasoning === null ? [] : ['thinking']),
  ];
}
