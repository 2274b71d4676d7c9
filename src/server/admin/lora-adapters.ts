// POST /load_lora_adapter and /unload_lora_adapter: adapters come and go while requests run.

import type { H3Event } from 'h3';
import { EngineError, type LoraInfo } from '../../index.ts';
import { checkLoad, checkUnload } from './admin-schema.ts';
import { RequestError } from '../errors.ts';
import { show } from '../body/fields.ts';
import { readJson } from '../body/json-body.ts';
import { listIgnored } from '../model-call.ts';
import { findModel } from '../models.ts';
import { type Log, requireRunning, type Service } from '../service.ts';

export async function loadAdapter(service: Service, event: H3Event) {
  requireRunning(service);
  const { body, ignored } = checkLoad(await readJson(event.req), service.options.strict);
  const { model } = findModel(service, 'text', body.model ?? 'default');
  listIgnored(event, ignored);
  const { lora_name: name, lora_path: path } = body;
  return listed(
    model.loadAdapter(name, path).catch((error: unknown) => {
      throw withoutReason(error, path, service.log);
    }),
  );
}

export async function unloadAdapter(service: Service, event: H3Event) {
  requireRunning(service);
  const { body, ignored } = checkUnload(await readJson(event.req), service.options.strict);
  const { model } = findModel(service, 'text', body.model ?? 'default');
  listIgnored(event, ignored);
  return listed(model.unloadAdapter(body.lora_name));
}

async function listed(change: Promise<readonly LoraInfo[]>) {
  const adapters = await change.catch((error: unknown) => {
    throw underFieldName(error);
  });
  return {
    success: true,
    loaded_adapters: Object.fromEntries(adapters.map(({ name, path }) => [name, path])),
  };
}

/** Gives every path without an adapter the same answer: which files exist is for the log, not for the client. */
function withoutReason(error: unknown, path: string, log: Log): unknown {
  if (!(error instanceof EngineError) || error.param !== 'path' || error.code !== 'model_not_found')
    return error;
  log.warn(`No adapter loaded: ${JSON.stringify(error.message)}`);
  const message = `${show(path)} is no folder of a LoRA adapter that this server can read; give the one that PEFT saved it in, and find the reason in the server's log`;
  return new EngineError('model_not_found', message, { param: 'path', cause: error });
}

/**
 * An error in the folder of an adapter becomes a 400 under the field's name, because the client chose the folder. The same error in
 * a served model would be a 500.
 */
function underFieldName(error: unknown): unknown {
  if (!(error instanceof EngineError)) return error;
  const { code, message, param } = error;
  const field = param === 'name' ? 'lora_name' : param === 'path' ? 'lora_path' : undefined;
  if (field === undefined) return error;
  return new RequestError(code === 'bad_checkpoint' ? 'bad_request' : code, message, { param: field });
}
