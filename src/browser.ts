// The public face in a page. The engine runs in dedicated workers on the browser's own WebGPU.

export { EngineError } from './files/error.ts';
export type { ModelFiles, ReadableFile } from './files/page/model-source.ts';
export {
  adapters,
  openEmbeddingModel,
  openImageModel,
  openTextModel,
  openTranscriptionModel,
} from './host/page/open.ts';
export type { InPage } from './host/page/given-files.ts';
export type { LoraInPage } from './host/page/page-rules.ts';
export { type HubAccess, listModels, removeModel } from './host/page/page-storage.ts';
export { extendEmbeddingModel, extendTextModel, extendTranscriptionModel } from './chat/extend.ts';
export { transcriptionEvents, wholeTranscription } from './chat/transcribe.ts';
export { mcpTools } from './chat/mcp-tools.ts';
export { tool } from './chat/tools.ts';
export { sameProportions } from './engine/image/request/size.ts';
export { coverImage } from './files/image/cover.ts';
export { configOfImage } from './files/image/image-metadata.ts';
export { VIDEO_FORMATS, videoFormatOf } from './files/video/formats.ts';
export { configOfVideo } from './files/video/video-metadata.ts';
export { encodeVideo } from './host/page/video.ts';
export { frameOf, IMAGE_FORMATS, imageFormatOf } from './files/image/pixels.ts';
export { decodeAlphaMask, decodeImage, decodeMask, encodeImage } from './files/page/image.ts';
export type * from './model-types.ts';
