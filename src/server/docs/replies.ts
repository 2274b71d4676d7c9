// The schemas of replies and events under their names in /openapi.json, by which routes refer to them. Tests check replies against
// them. The server needs them only for /openapi.json, and loads them at the first request for it.

export * from '../admin/admin-reply-schema.ts';
export * from '../anthropic/anthropic-reply-schema.ts';
export * from '../chat/chat-reply-schema.ts';
export * from '../completions/completion-reply-schema.ts';
export * from '../tokens/embedding-reply-schema.ts';
export * from '../error-reply-schema.ts';
export * from '../images/image-reply-schema.ts';
export * from '../model-reply-schema.ts';
export * from '../ollama/ollama-reply-schema.ts';
export * from '../admin/open-model-schema.ts';
export * from '../responses/response-reply-schema.ts';
export * from '../admin/server-reply-schema.ts';
export * from '../text/text-reply-schema.ts';
export * from '../tokens/tokenize-reply-schema.ts';
