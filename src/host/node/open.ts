// The engine in Node: models in a thread or in the caller's own, and the probe of an adapter.

import type { AdapterSummary } from '../../gpu/adapter.ts';
import { listAdapters, refuseElectron } from '../../gpu/node.ts';
import type { EmbeddingModelOptions } from '../../engine/embedding/embedding-model.ts';
import type { ImageModel, ImageModelOptions } from '../../engine/image/calls/image-model.ts';
import type { TunedModel } from '../../engine/text/calls/tuned-model.ts';
import type { KernelCheck } from '../../engine/check/check-result.ts';
import type { ProbeResult } from '../../engine/check/probe-result.ts';
import { EMBEDDING } from '../kinds/embedding.ts';
import { IMAGE } from '../kinds/image.ts';
import { TEXT } from '../kinds/text.ts';
import { TRANSCRIPTION } from '../kinds/transcription.ts';
import { extendEmbeddingModel, extendTextModel, extendTranscriptionModel } from '../../chat/extend.ts';
import type { OpenedEmbeddingModel, OpenedTextModel, OpenedTranscriptionModel } from '../../chat/extend.ts';
import type { OpenModel } from '../session/model.ts';
import { anyOpener, type AnyModelOptions, type OpenedModel } from './open-any.ts';
import { openModel } from './open-model.ts';
import type { OpenEvent } from '../../engine/opening/open-event.ts';
import type { Platform } from '../../engine/platform/platform.ts';
import type { TextModelOptions } from '../../engine/text/calls/text-model.ts';
import type { TranscriptionModelOptions } from '../../engine/transcription/transcription-model.ts';
import { adapterRule } from '../../engine/input/rules.ts';

/**
 * Opens a language model from a folder or a hub id. Errors: bad_request (an option that is unknown or out of bounds),
 * model_not_found, bad_checkpoint, unsupported, no_adapter, out_of_memory, network, disk_full; device_lost where the device is lost
 * meanwhile; cancelled where `signal` aborts before the model is open. What has been downloaded by then is kept.
 */
export const openTextModel: OpenModel<TextModelOptions, OpenedTextModel> = async (...given) =>
  extendTextModel(await openModel(TEXT, ...given));

/**
 * Opens a diffusion pipeline from a folder or a hub id. Errors: those of openTextModel, and bad_request for options that the
 * pipeline does not have.
 */
export const openImageModel: OpenModel<ImageModelOptions, ImageModel> = (...given) =>
  openModel(IMAGE, ...given);

/** Opens an embedding model from a folder or a hub id. Errors: those of openTextModel. */
export const openEmbeddingModel: OpenModel<EmbeddingModelOptions, OpenedEmbeddingModel> = async (...given) =>
  extendEmbeddingModel(await openModel(EMBEDDING, ...given));

/** Opens a transcription model from a folder or a hub id. Errors: those of openTextModel. */
export const openTranscriptionModel: OpenModel<TranscriptionModelOptions, OpenedTranscriptionModel> = async (
  ...given
) => extendTranscriptionModel(await openModel(TRANSCRIPTION, ...given));

/**
 * Opens a folder, a model that ships or a hub id by what its files say that it is, and tells the kind. Errors: those of openTextModel.
 */
export const openAny: OpenModel<AnyModelOptions | string, OpenedModel> = anyOpener({
  text: openTextModel,
  image: openImageModel,
  embedding: openEmbeddingModel,
  transcription: openTranscriptionModel,
});

/** Lists all GPU adapters that can be opened, best first. */
export function adapters(): Promise<AdapterSummary[]> {
  return listAdapters();
}

/**
 * Times the tiles of a language model's products and attention on this machine's adapter, within about a minute, and stores the fastest for models that are
 * opened later. Results do not change by a bit. Errors: those of openTextModel; unsupported where the adapter has no timestamps.
 */
export async function tuneTextModel(
  options: Omit<TextModelOptions, 'inline' | 'sleepAfter'>,
  onEvent?: (event: OpenEvent) => void,
): Promise<TunedModel> {
  refuseElectron();
  TEXT.check(options);
  const [{ tuneModel }, { nodePlatform }] = await Promise.all([
    import('../../engine/text/tune-model.ts'),
    import('./platform.ts'),
  ]);
  return tuneModel(nodePlatform, options, onEvent);
}

/**
 * Checks the kernels of an adapter family by family against their plain forms, in some seconds; `onCheck` gets each result. `adapter` as in
 * TextModelOptions.
 */
export async function checkKernels(
  adapter?: string | number,
  onCheck?: (check: KernelCheck, done: number, total: number) => void,
): Promise<KernelCheck[]> {
  const opens = safeDevice(adapter);
  const check = await import('../../engine/check/check-kernels.ts');
  return check.checkKernels(opens, onCheck);
}

/** Checks whether an adapter computes correctly; `adapter` as in TextModelOptions. */
export async function probeAdapter(adapter?: string | number): Promise<ProbeResult> {
  const opens = safeDevice(adapter);
  return (await import('../../engine/check/probe.ts')).probe(opens);
}

/** Returns a function that opens an adapter with all checks. Throws bad_request for what names no adapter. */
function safeDevice(adapter: string | number | undefined): () => ReturnType<Platform['openDevice']> {
  refuseElectron();
  if (adapter !== undefined) adapterRule(adapter, 'adapter');
  return async () =>
    (await import('./platform.ts')).nodePlatform.openDevice({
      safe: true,
      ...(adapter !== undefined && { adapter }),
    });
}
