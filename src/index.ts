// The public face. Nothing else is public: the command line and the server are written with what stands here.

export { EngineError, type ErrorCode } from './files/error.ts';
export { type HubEvent, type ResolvedModel, type ResolveOptions, resolveModel } from './files/hub.ts';
export {
  type CachedModel,
  type CachedRevision,
  listModels,
  type RemovedModel,
  removeModel,
} from './files/hub-list.ts';
export type { AdapterSummary } from './gpu/adapter.ts';
export { listAdapters as adapters } from './gpu/node.ts';
export type { ProbeResult } from './engine/probe.ts';
export { openTextModel, probeAdapter } from './engine/open.ts';
export { shippedModelPath } from './files/shipped.ts';
export type {
  ChatMessage,
  ContentPart,
  FinishReason,
  OpenEvent,
  Quantization,
  Role,
  SamplingOptions,
  TextEvent,
  TextMetrics,
  TextModel,
  TextModelInfo,
  TextModelOptions,
  TextPrompt,
  TextRequest,
  Tool,
  ToolCall,
} from './engine/text/text-model.ts';
