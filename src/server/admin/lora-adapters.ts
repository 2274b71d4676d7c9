// POST /load_lora_adapter and /unload_lora_adapter: adapters come and go while requests run.

import { EngineError, type LoraInfo, type TextModel } from '../../index.ts';
import { show } from '../body/fields.ts';
import { RequestError } from '../http/errors.ts';
import type { Log } from '../http/request-log.ts';

export function loadAdapter(model: TextModel, name: string, path: string, log: Log) {
  return listed(
    model.loadAdapter(name, path).catch((error: unknown) => {
      throw withoutReason(error, path, log);
    }),
  );
}

export const unloadAdapter = (model: TextModel, name: string) => listed(model.unloadAdapter(name));

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
