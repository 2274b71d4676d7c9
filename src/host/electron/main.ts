// The public face in Electron's main process. The engine runs in a hidden window, on Chromium's own WebGPU; models and events are those of Node.

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
import { anyOpener, type AnyModelOptions, type OpenedModel } from '../node/open-any.ts';
import { listAdapters, openModel } from './open-main.ts';
import { serveWindows } from './windows.ts';

export { EngineError } from '../../files/error.ts';
export { mcpTools } from '../../chat/mcp-tools.ts';
export { tool } from '../../chat/tools.ts';
export { describeDownload, downloadModel } from '../node/downloads.ts';
export type { DescribedDownload, DownloadOptions, ModelDownload } from '../node/downloads.ts';
export { listModels } from '../node/hub-models.ts';
export { removeModel } from '../../files/hub/hub-list.ts';
export type { AnyModelOptions, OpenedModel } from '../node/open-any.ts';
export type * from '../../model-types.ts';

serveWindows();

/**
 * Opens a language model from a folder, a GGUF file or a hub id, once the app is ready. Errors as in Node; device_lost where the window's process ends while the
 * model is opened, or twice during one request.
 */
export const openTextModel: OpenModel<Omit<TextModelOptions, 'inline'>, OpenedTextModel> = async (...given) =>
  extendTextModel(await openModel(TEXT, ...given));

/** Opens a diffusion pipeline from a folder or a hub id. Errors: those of openTextModel. */
export const openImageModel: OpenModel<Omit<ImageModelOptions, 'inline'>, ImageModel> = (...given) =>
  openModel(IMAGE, ...given);

/** Opens an embedding model from a folder or a hub id. Errors: those of openTextModel. */
export const openEmbeddingModel: OpenModel<
  Omit<EmbeddingModelOptions, 'inline'>,
  OpenedEmbeddingModel
> = async (...given) => extendEmbeddingModel(await openModel(EMBEDDING, ...given));

/** Opens a transcription model from a folder or a hub id. Errors: those of openTextModel. */
export const openTranscriptionModel: OpenModel<
  Omit<TranscriptionModelOptions, 'inline'>,
  OpenedTranscriptionModel
> = async (...given) => extendTranscriptionModel(await openModel(TRANSCRIPTION, ...given));

/** Opens a model by what its files say that it is, and tells the kind. Errors: those of openTextModel. */
export const openAny: OpenModel<Omit<AnyModelOptions, 'inline'> | string, OpenedModel> = anyOpener({
  text: openTextModel,
  image: openImageModel,
  embedding: openEmbeddingModel,
  transcription: openTranscriptionModel,
});

/** Lists the adapters that Chromium offers, best first. Throws no_adapter. */
export function adapters(): Promise<AdapterSummary[]> {
  return listAdapters();
}
