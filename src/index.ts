// The public face. Nothing else is public: the command line and the server are written with what stands here.

// oxlint-disable-next-line import/no-unassigned-import -- the first import, because its evaluation is the check
import './host/node/version-check.ts';
export { EngineError } from './files/error.ts';
export type { HubLimits } from './files/hub/hub-http.ts';
export type { HubEvent, ResolvedModel } from './files/hub/hub.ts';
export { listModels, resolveModel, type ResolveOptions } from './host/node/hub-models.ts';
export { removeModel } from './files/hub/hub-list.ts';
export type { KernelCheck } from './engine/check/check-result.ts';
export type { TunedModel } from './engine/text/calls/tuned-model.ts';
export type { ProbeResult } from './engine/check/probe-result.ts';
export { describeDownload, downloadModel } from './host/node/downloads.ts';
export type { DescribedDownload, DownloadOptions, ModelDownload } from './host/node/downloads.ts';
export type { DownloadFile } from './files/hub/hub-fetch.ts';
export type { AnyModelOptions, OpenedModel } from './host/node/open-any.ts';
export { type Fit, fitModel } from './engine/plan/fit-model.ts';
export { deviceBudget, planModel } from './host/node/plan.ts';
export { planInThread } from './host/node/plan-thread.ts';
export { findCachedModels, findModels, removeFound, type FoundModel } from './host/node/found-models.ts';
export type {
  ModelPlan,
  PlannedChoice,
  PlannedComponent,
  PlannedQuantization,
  PlanOptions,
} from './engine/plan/model-plan.ts';
export { SUPPORTED } from './host/supported.ts';
export type { Supported } from './engine/opening/supported.ts';
export { DEFAULTS, LIMITS } from './options/limits.ts';
export { MODEL_KINDS } from './host/kinds/faces.ts';
export type { AnyFace as AnyKind, KindFace as ModelKind, ModelOf } from './host/kinds/kind-face.ts';
export type { Model } from './host/session/model.ts';
export {
  adapters,
  checkKernels,
  openAny,
  openEmbeddingModel,
  openImageModel,
  openTextModel,
  openTranscriptionModel,
  probeAdapter,
  tuneTextModel,
} from './host/node/open.ts';
export { extendEmbeddingModel, extendTextModel, extendTranscriptionModel } from './chat/extend.ts';
export { transcriptionEvents, wholeTranscription } from './chat/transcribe.ts';
export {
  formatTranscription,
  TRANSCRIPTION_FORMATS,
  type TranscriptionFormat,
  verboseTranscription,
} from './files/transcript-formats.ts';
export { infillPrompt } from './chat/infill.ts';
export { mcpTools } from './chat/mcp-tools.ts';
export { tool } from './chat/tools.ts';
export { coverImage } from './files/image/cover.ts';
export { decodeAlphaMask, decodeImage, decodeMask, encodeImage } from './files/image/image.ts';
export { checkVideo, VIDEO_FORMATS, videoFormatOf } from './files/video/formats.ts';
export { configOfVideo } from './files/video/video-metadata.ts';
export { encodeVideo } from './host/node/video.ts';
export { frameOf, IMAGE_FORMATS, imageFormatOf } from './files/image/pixels.ts';
export { formatOf as checkMediaFormat, mediaFormat, mediaKind, READ_FORMATS } from './files/media/format.ts';
export { configOfImage } from './files/image/image-metadata.ts';
export { PIPELINE_CLASSES } from './engine/image/families/class-names.ts';
export { shippedImageModelPath, shippedModelPath, shippedVideoModelPath } from './files/shipped.ts';
export { REASONING_FORMATS, TOOL_CALL_FORMATS } from './engine/text/output/detect.ts';
export { sameProportions } from './engine/image/request/size.ts';
export type * from './model-types.ts';
