// The types of models, requests and events, which are the same in Node, in Electron and in pages.

declare global {
  /** Models are closed by `await using`. A program whose compiler or `lib` lacks the symbol can read the types of models all the same. */
  interface SymbolConstructor {
    readonly asyncDispose: unique symbol;
  }
}

export type { ChatSession } from './chat/chat-session.ts';
export type {
  ChatEvent,
  ChatOptions,
  ChatReply,
  ChatStream,
  ReplyOptions,
  SendOptions,
  TalkingModel,
  UserContent,
} from './chat/chat-types.ts';
export type {
  Completion,
  CompletionEvent,
  CompletionOptions,
  CompletionPrompt,
  CompletionStream,
} from './chat/complete.ts';
export type { ContextPolicy, Summarise } from './chat/context-window.ts';
export type { EmbedOptions } from './chat/embed.ts';
export type { Classified, Ranked, RankOptions, ScoreOptions } from './chat/score.ts';
export type {
  Conversing,
  OpenedEmbeddingModel,
  OpenedTextModel,
  OpenedTranscriptionModel,
  Ranking,
  Transcribing,
} from './chat/extend.ts';
export type { InfillPrompt } from './chat/infill.ts';
export type { JsonSchema, JsonValueOf } from './chat/json-schema-type.ts';
export type { McpClient, McpOptions } from './chat/mcp-tools.ts';
export type { ReplyStream } from './chat/reply-stream.ts';
export type { ReplyUsage } from './chat/round.ts';
export type { SavedChat } from './chat/saved-chat.ts';
export type { Schema, StandardSchema, ValueOf } from './chat/schema.ts';
export type { ConfirmCall, ToolCallOf, ToolOutcome } from './chat/tool-calls.ts';
export type { ToolContext, ToolDefinition, ToolsOf } from './chat/tools.ts';
export type { TranscribeOptions, Transcription } from './chat/transcribe.ts';
export type { ErrorCode } from './files/error.ts';
export type { Message, MessagePart, Names } from './files/message.ts';
export type { CachedModel, CachedRevision, RemovedModel } from './files/hub/hub-cache.ts';
export type { Clip, MediaKind, RgbaPixels, Sound, VideoSource } from './files/media/decoded.ts';
export type { ImageParameters } from './files/image/image-metadata.ts';
export type { VideoFormat, VideoOptions } from './files/video/formats.ts';
export type { EncodeVideoOptions } from './host/thread/video-thread.ts';
export type { EncodeOptions, Frames, ImageFormat, Pixels } from './files/image/pixels.ts';
export type { OpenEvent, Quantization } from './engine/opening/open-event.ts';
export type { AdapterSummary } from './gpu/adapter.ts';
export type {
  EmbeddingEvent,
  EmbeddingMetrics,
  EmbeddingModel,
  EmbeddingModelInfo,
  EmbeddingModelOptions,
  EmbeddingRequest,
  TextPair,
} from './engine/embedding/embedding-model.ts';
export type {
  Backend,
  ImageEvent,
  ImageInput,
  ImageModel,
  ImageModelInfo,
  ImageModelOptions,
  ImageRequest,
  ResolvedImageRequest,
  StageName,
  ValueSource,
} from './engine/image/calls/image-model.ts';
export type { ImageMemoryPlan } from './engine/image/calls/memory-plan.ts';
export type {
  AudioPart,
  CacheMetrics,
  CachedTokens,
  ChatMessage,
  ContentPart,
  FinishReason,
  GrammarCounters,
  ImagePart,
  LogitProcessor,
  MediaTokens,
  MediumPart,
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
  ReplicaMetrics,
  TextMetrics,
  TextModel,
  TextModelInfo,
  TextModelOptions,
  TextPart,
  TextPrompt,
  TextRequest,
  TokenLogprob,
  Tool,
  ToolCall,
  ToolChoice,
  UnenforcedKeyword,
  VideoPart,
} from './engine/text/calls/text-model.ts';
export type {
  TranscriptionEvent,
  TranscriptionMetrics,
  TranscriptionModel,
  TranscriptionModelInfo,
  TranscriptionModelOptions,
  TranscriptionRequest,
  TranscriptionSegment,
} from './engine/transcription/transcription-model.ts';
