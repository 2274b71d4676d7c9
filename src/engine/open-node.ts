// The engine in Node: models in a thread of their own or in the caller's, and the probe of an adapter.

import type { AdapterSummary } from '../gpu/adapter.ts';
import { listAdapters } from '../gpu/node.ts';
import { nodePlatform } from './platform-node.ts';
import { probe } from './probe.ts';
import type { Model } from './session/model-proxy.ts';
import { letSleep, plainRest, type Sleep } from './session/sleep.ts';
import type { ProbeResult } from './probe-result.ts';
import { modelName } from './text/defaults.ts';
import { openTextModelInline } from './text/open.ts';
import { textSleep } from './text/text-sleep.ts';
import type { OpenEvent } from './session/open-event.ts';
import type { TextModel, TextModelOptions } from './text/text-model.ts';
import type { EmbeddingModel, EmbeddingModelOptions } from './embedding/embedding-model.ts';
import { checkEmbeddingModelOptions } from './embedding/embedding-rules.ts';
import { embeddingSleep } from './embedding/embedding-sleep.ts';
import { openEmbeddingModelInline } from './embedding/open.ts';
import { openImageModelInline } from './image/open.ts';
import type { ImageModel, ImageModelOptions } from './image/image-model.ts';
import {
  openEmbeddingModelInWorker,
  openImageModelInWorker,
  openTextModelInWorker,
} from './session/worker-node.ts';
import { checkImageModelOptions } from './image-rules.ts';
import { adapterRule, checkTextModelOptions } from './text/text-rules.ts';

/**
 * Opens a language model from a folder or a hub id. Errors: bad_request (an option that is unknown or out of bounds),
 * model_not_found, bad_checkpoint, unsupported, no_adapter, out_of_memory, network, disk_full; cancelled where `signal` aborts
 * before the model is open. What has been downloaded by then is kept.
 */
export async function openTextModel(
  options: TextModelOptions,
  onEvent?: (event: OpenEvent) => void,
  signal?: AbortSignal,
): Promise<TextModel> {
  checkTextModelOptions(options);
  const open = (giveUp?: AbortSignal): Promise<TextModel> =>
    options.inline
      ? openTextModelInline(nodePlatform, options, onEvent, giveUp)
      : openTextModelInWorker(options, onEvent, giveUp);
  return sleeping(open, { options, onEvent, signal }, (model) => textSleep(model, options));
}

/**
 * Opens a diffusion pipeline from a folder or a hub id. Errors: those of openTextModel, and bad_request for options that the
 * pipeline does not have.
 */
export async function openImageModel(
  options: ImageModelOptions,
  onEvent?: (event: OpenEvent) => void,
  signal?: AbortSignal,
): Promise<ImageModel> {
  checkImageModelOptions(options);
  const open = (giveUp?: AbortSignal): Promise<ImageModel> =>
    options.inline
      ? openImageModelInline(nodePlatform, options, onEvent, giveUp)
      : openImageModelInWorker(options, onEvent, giveUp);
  return sleeping<ImageModel>(open, { options, onEvent, signal }, () => plainRest);
}

/** Opens an embedding model from a folder or a hub id. Errors: those of openTextModel. */
export async function openEmbeddingModel(
  options: EmbeddingModelOptions,
  onEvent?: (event: OpenEvent) => void,
  signal?: AbortSignal,
): Promise<EmbeddingModel> {
  checkEmbeddingModelOptions(options);
  const open = (giveUp?: AbortSignal): Promise<EmbeddingModel> =>
    options.inline
      ? openEmbeddingModelInline(nodePlatform, options, onEvent, giveUp)
      : openEmbeddingModelInWorker(options, onEvent, giveUp);
  return sleeping(open, { options, onEvent, signal }, embeddingSleep);
}

interface Opening {
  options: { model: string; sleepAfter?: number };
  onEvent: ((event: OpenEvent) => void) | undefined;
  signal: AbortSignal | undefined;
}

/** The model opened, and where the options say so put to sleep while nobody asks. */
async function sleeping<M extends Model<unknown, never, unknown>>(
  open: (signal?: AbortSignal) => Promise<M>,
  { options: { model: name, sleepAfter: after }, onEvent, signal }: Opening,
  rest: (model: M) => Pick<Sleep<M>, 'passive' | 'rest' | 'lobby'>,
): Promise<M> {
  const model = await open(signal);
  if (after === undefined) return model;
  const tell = (message: string): void =>
    onEvent?.({ type: 'note', message: `${modelName(name)}: ${message}` });
  return letSleep(model, { after, open, tell, ...rest(model) });
}

/** All adapters that answer, best first. */
export function adapters(): Promise<AdapterSummary[]> {
  return listAdapters();
}

/** Whether an adapter computes right; `adapter` as in TextModelOptions. */
export async function probeAdapter(adapter?: string | number): Promise<ProbeResult> {
  if (adapter !== undefined) adapterRule(adapter, 'adapter');
  return probe(() => nodePlatform.openDevice({ safe: true, ...(adapter === undefined ? {} : { adapter }) }));
}
