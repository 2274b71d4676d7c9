// The engine in Node: models in a thread of their own or in the caller's, and the probe of an adapter.

import { nodePlatform } from './platform-node.ts';
import { probe, type ProbeResult } from './probe.ts';
import { openTextModelInline } from './text/open.ts';
import type { OpenEvent, TextModel, TextModelOptions } from './text/text-model.ts';
import { openImageModelInline } from './image/open.ts';
import type { ImageModel, ImageModelOptions } from './image/image-model.ts';
import { openImageModelInWorker, openTextModelInWorker } from './worker-node.ts';

/**
 * Opens a language model from a folder or a hub id. Errors: model_not_found, bad_checkpoint, unsupported, no_adapter,
 * out_of_memory, network, disk_full.
 */
export function openTextModel(
  options: TextModelOptions,
  onEvent?: (event: OpenEvent) => void,
): Promise<TextModel> {
  return options.inline
    ? openTextModelInline(nodePlatform, options, onEvent)
    : openTextModelInWorker(options, onEvent);
}

/**
 * Opens a diffusion pipeline from a folder or a hub id. Errors: those of openTextModel, and bad_request for options that the
 * pipeline does not have.
 */
export function openImageModel(
  options: ImageModelOptions,
  onEvent?: (event: OpenEvent) => void,
): Promise<ImageModel> {
  return options.inline
    ? openImageModelInline(nodePlatform, options, onEvent)
    : openImageModelInWorker(options, onEvent);
}

/** Whether an adapter computes right; `adapter` as in TextModelOptions. */
export function probeAdapter(adapter?: string): Promise<ProbeResult> {
  return probe(() => nodePlatform.openDevice({ safe: true, ...(adapter === undefined ? {} : { adapter }) }));
}
