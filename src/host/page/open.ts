// The engine in a page.

import { listAdapters } from '../../gpu/browser-adapters.ts';
import type { AdapterSummary } from '../../gpu/adapter.ts';
import type { EmbeddingModelOptions } from '../../engine/embedding/embedding-model.ts';
import type { ImageModel, ImageModelOptions } from '../../engine/image/calls/image-model.ts';
import type { TextModelOptions } from '../../engine/text/calls/text-model.ts';
import type { TranscriptionModelOptions } from '../../engine/transcription/transcription-model.ts';
import { extendEmbeddingModel, extendTextModel, extendTranscriptionModel } from '../../chat/extend.ts';
import type { OpenedEmbeddingModel, OpenedTextModel, OpenedTranscriptionModel } from '../../chat/extend.ts';
import { EMBEDDING } from '../kinds/embedding.ts';
import { IMAGE } from '../kinds/image.ts';
import { TEXT } from '../kinds/text.ts';
import { TRANSCRIPTION } from '../kinds/transcription.ts';
import type { OpenModel } from '../session/model.ts';
import type { InPage } from './given-files.ts';
import { openModel } from './open-model.ts';

/**
 * Opens a language model in a worker of this page. Errors as in Node; no_adapter also where the browser has no WebGPU; unsupported for
 * options that exist in Node only, and where the worker cannot be started; network where its script cannot be loaded.
 */
export const openTextModel: OpenModel<InPage<TextModelOptions>, OpenedTextModel> = async (...given) =>
  extendTextModel(await openModel(TEXT, ...given));

/** Opens a diffusion pipeline in a worker of this page. Errors: those of openTextModel. */
export const openImageModel: OpenModel<InPage<ImageModelOptions>, ImageModel> = (...given) =>
  openModel(IMAGE, ...given);

/** Opens an embedding model in a worker of this page. Errors: those of openTextModel. */
export const openEmbeddingModel: OpenModel<InPage<EmbeddingModelOptions>, OpenedEmbeddingModel> = async (
  ...given
) => extendEmbeddingModel(await openModel(EMBEDDING, ...given));

/** Opens a transcription model in a worker of this page. Errors: those of openTextModel. */
export const openTranscriptionModel: OpenModel<
  InPage<TranscriptionModelOptions>,
  OpenedTranscriptionModel
> = async (...given) => extendTranscriptionModel(await openModel(TRANSCRIPTION, ...given));

/** Lists the adapters that the browser offers, best first. Throws no_adapter. */
export function adapters(): Promise<AdapterSummary[]> {
  return listAdapters();
}
