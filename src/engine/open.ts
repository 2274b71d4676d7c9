// Where models open: in a thread of their own, or in the caller's.

import { openTextModelInline } from './text/open.ts';
import type { OpenEvent, TextModel, TextModelOptions } from './text/text-model.ts';
import { openTextModelInWorker } from './worker-node.ts';

/**
 * Opens a language model from a folder or a hub id. Errors: model_not_found, bad_checkpoint, unsupported, no_adapter,
 * out_of_memory, network, disk_full.
 */
export function openTextModel(
  options: TextModelOptions,
  onEvent?: (event: OpenEvent) => void,
): Promise<TextModel> {
  return options.inline ? openTextModelInline(options, onEvent) : openTextModelInWorker(options, onEvent);
}
