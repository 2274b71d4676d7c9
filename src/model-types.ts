// The types of models, requests and events, which are the same in Node, in Electron and in pages.

export type { ErrorCode } from './files/error.ts';
export type { Message, MessagePart, Names } from './files/message.ts';
export type { CachedModel, CachedRevision, RemovedModel } from './files/hub/hub-cache.ts';
export type { Clip, MediaKind, RgbaPixels, Sound, VideoSource } from './files/media/decoded.ts';
export type { OpenEvent, Quantization } from './engine/session/open-event.ts';
export type { AdapterSummary } from './gpu/adapter.ts';
export type {
  EmbeddingEvent,
  EmbeddingMetrics,
  EmbeddingModel,
  EmbeddingModelInfo,
  EmbeddingModelOptions,
  EmbeddingRequest,
} from './engine/embedding/embedding-model.ts';
export type {
  Backend,
  ImageEvent,
  ImageModel,
  ImageModelInfo,
  ImageModelOptions,
  ImageRequest,
  ResolvedImageRequest,
  StageName,
  ValueSource,
} from './engine/image/image-model.ts';
export type { ImageMemoryPlan } from './engine/image/memory-plan.ts';
export type {
  CacheMetrics,
  CachedTokens,
  ChatMessage,
  ContentPart,
  FinishReason,
  GrammarCounters,
  LogitProcessor,
  MediaTokens,
  PromptToken,
  ReasoningEffort,
  ReasoningOptions,
  Role,
  SamplingOptions,
  StructuralTag,
  TextConstraint,
  TextEvent,
  TextFormat,
  LoraInfo,
  TextMetrics,
  TextModel,
  TextModelInfo,
  TextModelOptions,
  TextPrompt,
  TextRequest,
  TokenLogprob,
  Tool,
  ToolCall,
  ToolChoice,
} from './engine/text/text-model.ts';
