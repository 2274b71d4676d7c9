// The public face. Nothing else is public: the command line and the server are written with what stands here.

export { EngineError, type ErrorCode } from './files/error.ts';
export type { AdapterSummary } from './gpu/adapter.ts';
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
