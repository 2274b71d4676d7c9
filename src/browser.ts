// The public face in a page. The engine runs in dedicated workers on the browser's own WebGPU.

export { EngineError } from './files/error.ts';
export type { ModelFiles, ReadableFile } from './files/page/model-source.ts';
export {
  adapters,
  type InPage,
  openEmbeddingModel,
  openImageModel,
  openTextModel,
} from './engine/open-browser.ts';
export type { LoraInPage } from './engine/page-rules-browser.ts';
export { type HubAccess, listModels, removeModel } from './engine/page-storage-browser.ts';
export { sameProportions } from './engine/image/size.ts';
export { coverImage } from './files/image/cover.ts';
export { configOfImage, type ImageParameters } from './files/image/image-metadata.ts';
export {
  type EncodeOptions,
  IMAGE_FORMATS,
  type ImageFormat,
  imageFormatOf,
  type Pixels,
} from './files/image/pixels.ts';
export { decodeAlphaMask, decodeImage, decodeMask, encodeImage } from './files/page/image.ts';
export type * from './model-types.ts';
