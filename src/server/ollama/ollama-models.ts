// Models in Ollama's interface: GET /api/tags, /api/ps and /api/version, POST /api/show; and refusals for the routes that would
// change the list of models.

import { createHash } from 'node:crypto';
import { type EmbeddingModel, MODEL_KINDS, type SamplingOptions, type TextModel } from '../../index.ts';
import { fieldError, RequestError } from '../http/errors.ts';
import { fieldName } from '../../options/setting.ts';
import { mapSampling } from '../../options/text-request.ts';
import { findModel, splitName } from '../service/models.ts';
import { bodyRoute } from '../service/route.ts';
import { isOf, requireRunning, type Service } from '../service/service.ts';
import { OLLAMA, SHOW_FIELDS } from './ollama-schema.ts';

/**
 * The version of Ollama whose interface this is. Clients infer supported routes from it; Codex requires the version that introduced
 * /v1/responses.
 */
const INTERFACE = '0.13.4';
/** A date beyond any clock: the time at which a model will sleep is not known, because each request postpones it. */
const NEVER = '9999-12-31T23:59:59Z';

type Served = TextModel | EmbeddingModel;

export function ollamaVersion({ options }: Service) {
  return { version: INTERFACE, svc_engine: options.version };
}

/**
 * Lists the text and embedding models that are ready, under all their names, with their adapters. Clients look for names with tags.
 */
async function listed(service: Service): Promise<{ name: string; model: Served }[]> {
  requireRunning(service);
  const found = await Promise.all(
    service.slots.map(async ({ names, phase }) => {
      if (phase.name !== 'ready') return [];
      const { ready } = phase;
      const isText = isOf<TextModel>(MODEL_KINDS.text, ready);
      if (!isText && !isOf<EmbeddingModel>(MODEL_KINDS.embedding, ready)) return [];
      const { model } = ready;
      const adapters = isText ? await ready.model.loadedLoras() : [];
      const all = [...names, ...adapters.map(({ name }) => `${names[0]}:${name}`)];
      return all.map((name) => ({ name: name.includes(':') ? name : `${name}:latest`, model }));
    }),
  );
  return found.flat();
}

export async function ollamaTags(service: Service) {
  const models = await listed(service);
  return {
    models: models.map(({ name, model }) => ({
      ...entryOf(name, model),
      modified_at: timeOf(service),
      size: model.info.memory.weights,
    })),
  };
}

export async function ollamaRunning(service: Service) {
  const models = (await listed(service)).filter(({ model }) => !model.asleep);
  return {
    models: models.map(({ name, model }) => {
      const { memory, adapter, contextLength } = model.info;
      const size = memory.weights + memory.kv + memory.arena;
      return {
        ...entryOf(name, model),
        size,
        size_vram: adapter.software ? 0 : size,
        context_length: contextLength,
        expires_at: NEVER,
      };
    }),
  };
}

export const SHOW = bodyRoute(
  { summary: 'Properties and capabilities of a model.', ...OLLAMA, fields: SHOW_FIELDS, reply: 'OllamaShow' },
  ({ service, body }) => show(service, body.model ?? body.name),
);

function show(service: Service, requested: string | undefined) {
  if (requested === undefined) {
    throw fieldError('model', 'is required; GET /api/tags lists the names', 'missing_required_parameter');
  }
  const { base } = splitName(service, requested);
  const { model } = findModel(service, [MODEL_KINDS.text, MODEL_KINDS.embedding], base);
  const { info } = model;
  const isText = info.kind === 'text';
  return {
    ...(isText && { parameters: parametersOf(info.sampling) }),
    details: detailsOf(model),
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

export function refuseManaging(): never {
  throw new RequestError(
    'unsupported',
    'models are not pulled, pushed, made, copied or deleted here: they are given with --model-path when the server is started; svc pull and svc rm manage those from the hub',
  );
}

const timeOf = ({ startedAt }: Service): string => new Date(1000 * startedAt).toISOString();

function entryOf(name: string, model: Served) {
  const { info } = model;
  const identity = [name, info.path, info.architecture, info.parameters, info.quantization];
  const digest = createHash('sha256').update(JSON.stringify(identity)).digest('hex');
  return { name, model: name, digest, details: detailsOf(model) };
}

function detailsOf({ info: { architecture, parameters, quantization } }: Served) {
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
