// The engine in Node: models in a thread of their own or in the caller's, and the probe of an adapter.

import type { AdapterSummary } from '../gpu/adapter.ts';
import { listAdapters } from '../gpu/node.ts';
import { nodePlatform } from './platform-node.ts';
import { probe } from './probe.ts';
import type { ProbeResult } from './probe-result.ts';
import { openTextModelInline } from './text/open.ts';
import type { OpenEvent, TextModel, TextModelOptions } from './text/text-model.ts';
import type { EmbeddingModel, EmbeddingModelOptions } from './embedding/embedding-model.ts';
import { checkEmbeddingModelOptions } from './embedding/embedding-rules.ts';
import { openEmbeddingModelInline } from './embedding/open.ts';
import { openImageModelInline } from './image/open.ts';
import type { ImageModel, ImageModelOptions } from './image/image-model.ts';
import { openEmbeddingModelInWorker, openImageModelInWorker, openTextModelInWorker } from './worker-node.ts';
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
  return options.inline
    ? openTextModelInline(nodePlatform, options, onEvent, signal)
    : openTextModelInWorker(options, onEvent, signal);
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
  return options.inline
    ? openImageModelInline(nodePlatform, options, onEvent, signal)
    : openImageModelInWorker(options, onEvent, signal);
}

/** Opens an embedding model from a folder or a hub id. Errors: those of openTextModel. */
export async function openEmbeddingModel(
  options: EmbeddingModelOptions,
  onEvent?: (event: OpenEvent) => void,
  signal?: AbortSignal,
): Promise<EmbeddingModel> {
  checkEmbeddingModelOptions(options);
  return options.inline
    ? openEmbeddingModelInline(nodePlatform, options, onEvent, signal)
    : openEmbeddingModelInWorker(options, onEvent, signal);
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
