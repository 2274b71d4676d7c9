// The routes of administration: information about the server and its models, caches, running requests, LoRAs, metrics.

import { z } from 'zod';
import { filled } from '../body/bounded.ts';
import { EngineError, type LoraInfo, MODEL_KINDS, type TextModel } from '../../index.ts';
import { modelNotFound } from '../../files/error.ts';
import { honoured, show } from '../body/fields.ts';
import { readJson } from '../body/json-body.ts';
import { refuseField, RequestError } from '../http/errors.ts';
import { findModel, modelsOf } from '../service/models.ts';
import { alias, bodyRoute, type RouteTable } from '../service/route.ts';
import type { Service } from '../service/service.ts';
import { GET_LOAD } from './load.ts';
import { METRICS } from './metrics-page.ts';
import { MODEL_INFO, SERVER_INFO } from './server-info.ts';
import type { Log } from '../http/request-log.ts';

const model = honoured(filled, 'A served name; left out, every model.');
const own = honoured(filled, 'A served name; left out, the first language model.', 'default');
const lora = honoured(filled, 'The name that requests use: model:name.');

/** The text model with a name, or all text models that are ready. */
function textModels(service: Service, name: string | undefined): TextModel[] {
  if (name !== undefined) return [findModel(service, MODEL_KINDS.text, name).model];
  return modelsOf<TextModel>(service, MODEL_KINDS.text).map(({ model }) => model);
}

/** Reads the body of a route whose body may be missing. */
async function readOptional(request: Request): Promise<unknown> {
  const { headers } = request;
  const isEmpty = Number(headers.get('content-length')) === 0 && !headers.has('transfer-encoding');
  return isEmpty ? {} : readJson(request);
}

const COMMON = {
  group: 'Administration',
  schemas: [() => import('./admin-reply-schema.ts')],
  access: 'admin',
} as const;

const FLUSH = bodyRoute(
  {
    summary: 'Empties the prefix cache, in storage excepted, and forgets grammars; 400 while requests run.',
    ...COMMON,
    fields: { model },
    read: readOptional,
    reply: 'Flushed',
  },
  async ({ service, body }) => {
    const flushed = await Promise.all(textModels(service, body.model).map((one) => one.flushCache()));
    if (!flushed.includes(false)) return { flushed: true };
    throw new RequestError(
      'busy',
      'requests run or wait, and the cache is theirs; flush it once they have ended',
    );
  },
);

const ABORT = bodyRoute(
  {
    summary: 'Aborts requests by their ids, or all requests.',
    ...COMMON,
    fields: {
      rid: honoured(filled, 'Id of a request, or what several begin with.'),
      abort_all: honoured(z.boolean(), 'All requests.', false),
      model,
    },
    checkTogether: checkAbort,
    reply: 'Aborted',
  },
  async ({ service, body }) => {
    const models = textModels(service, body.model);
    const counts = await Promise.all(models.map((one) => one.abort(body.rid ?? 'all')));
    return { aborted: counts.reduce((sum, count) => sum + count, 0) };
  },
);

function checkAbort({
  rid,
  abort_all: all = false,
}: {
  rid?: unknown;
  abort_all?: boolean | undefined;
}): void {
  if (rid === undefined && !all)
    refuseField('rid', 'is required, or abort_all; send one of them', 'missing_required_parameter');
  if (rid !== undefined && all) refuseField('rid', 'and abort_all are both there; send one of them');
}

const LOAD = bodyRoute(
  {
    summary: 'Loads a LoRA adapter while requests run.',
    ...COMMON,
    fields: {
      lora_name: lora,
      lora_path: honoured(filled, 'Folder of the LoRA, in the layout of PEFT.'),
      model: own,
    },
    required: ['lora_name', 'lora_path'],
    reply: 'LoadedAdapters',
  },
  ({ service, body }) => {
    const found = findModel(service, MODEL_KINDS.text, body.model ?? 'default');
    return loadLora(found.model, body.lora_name, body.lora_path, service.log);
  },
);

const UNLOAD = bodyRoute(
  {
    summary: 'Unloads a LoRA adapter; running requests that use it end normally.',
    ...COMMON,
    fields: { lora_name: lora, model: own },
    required: ['lora_name'],
    reply: 'LoadedAdapters',
  },
  ({ service, body }) =>
    unloadLora(findModel(service, MODEL_KINDS.text, body.model ?? 'default').model, body.lora_name),
);

export const ADMIN_ROUTES: RouteTable = {
  '/model_info': { GET: MODEL_INFO },
  '/get_model_info': { GET: alias('/model_info', MODEL_INFO) },
  '/server_info': { GET: SERVER_INFO },
  '/get_server_info': { GET: alias('/server_info', SERVER_INFO) },
  '/get_load': { GET: GET_LOAD },
  '/flush_cache': { POST: FLUSH },
  '/abort_request': { POST: ABORT },
  '/load_lora_adapter': { POST: LOAD },
  '/unload_lora_adapter': { POST: UNLOAD },
  '/metrics': { GET: METRICS },
};

export function loadLora(model: TextModel, name: string, path: string, log: Log) {
  return listed(
    model.loadLora(name, path).catch((error: unknown) => {
      throw withoutReason(error, path, log);
    }),
  );
}

export const unloadLora = (model: TextModel, name: string) => listed(model.unloadLora(name));

async function listed(change: Promise<readonly LoraInfo[]>) {
  const adapters = await change.catch((error: unknown) => {
    throw underFieldName(error);
  });
  return {
    success: true,
    loaded_adapters: Object.fromEntries(adapters.map(({ name, path }) => [name, path])),
  };
}

/** A path in the message may hold line breaks, and codes of a terminal. */
const onOneLine = (message: string): string =>
  message.replace(/\p{Cc}/gu, (character) => JSON.stringify(character).slice(1, -1));

/** Gives every path without a LoRA the same answer: which files exist is for the log, not for the client. */
function withoutReason(error: unknown, path: string, log: Log): unknown {
  if (!(error instanceof EngineError) || error.param !== 'path' || error.code !== 'model_not_found')
    return error;
  log.warn(`No LoRA loaded: ${onOneLine(error.message)}`);
  const message = `${show(path)} is not a folder of a LoRA that this server can read; give the one that PEFT saved it in, and find the reason in the server's log`;
  return modelNotFound(message, 'path', error);
}

/**
 * An error in the folder of a LoRA becomes a 400 under the field's name, because the client chose the folder. The same error in
 * a served model would be a 500.
 */
function underFieldName(error: unknown): unknown {
  if (!(error instanceof EngineError)) return error;
  const { code, message, param } = error;
  const field = param === 'name' ? 'lora_name' : param === 'path' ? 'lora_path' : undefined;
  if (field === undefined) return error;
  return new RequestError(code === 'bad_checkpoint' ? 'bad_request' : code, message, { param: field });
}
