// All replies and events under the names that they have in /openapi.json; routes say which is theirs. The tests hold what comes against
// them, and the server reads them for that page alone: they are loaded when it is asked for.

export * from './admin-reply-schema.ts';
export * from './anthropic-reply-schema.ts';
export * from './chat-reply-schema.ts';
export * from './completion-reply-schema.ts';
export * from './embedding-reply-schema.ts';
export * from './error-reply-schema.ts';
export * from './image-reply-schema.ts';
export * from './model-reply-schema.ts';
export * from './ollama-reply-schema.ts';
export * from './open-model-schema.ts';
export * from './response-reply-schema.ts';
export * from './server-reply-schema.ts';
export * from './text-reply-schema.ts';
export * from './tokenize-reply-schema.ts';
