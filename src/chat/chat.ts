// svc-engine/chat: conversations without the engine, for models that come from elsewhere: from `window.svcEngine` in a window of Electron.

export { EngineError } from '../files/error.ts';
export { extendEmbeddingModel, extendTextModel } from './extend.ts';
export { mcpTools } from './mcp-tools.ts';
export { tool } from './tools.ts';
