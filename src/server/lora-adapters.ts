// POST /load_lora_adapter and /unload_lora_adapter: adapters come and go while requests run.

import type { H3Event } from 'h3';
import type { LoraInfo } from '../index.ts';
import { checkLoad, checkUnload } from './admin-schema.ts';
import { readJson } from './json-body.ts';
import { listIgnored } from './model-call.ts';
import { findModel } from './models.ts';
import { requireRunning, type Service } from './service.ts';

export async function loadAdapter(service: Service, event: H3Event) {
  requireRunning(service);
  const { body, ignored } = checkLoad(await readJson(event.req), service.options.strict);
  const { model } = findModel(service, 'text', body.model ?? 'default');
  listIgnored(event, ignored);
  return listed(await model.loadAdapter(body.lora_name, body.lora_path));
}

export async function unloadAdapter(service: Service, event: H3Event) {
  requireRunning(service);
  const { body, ignored } = checkUnload(await readJson(event.req), service.options.strict);
  const { model } = findModel(service, 'text', body.model ?? 'default');
  listIgnored(event, ignored);
  return listed(await model.unloadAdapter(body.lora_name));
}

function listed(adapters: readonly LoraInfo[]) {
  return {
    success: true,
    loaded_adapters: Object.fromEntries(adapters.map(({ name, path }) => [name, path])),
  };
}
