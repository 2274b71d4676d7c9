// POST /api/chat and /api/generate: Ollama's interface over chat completions.

import type { ChatMessage, TextModel, TextPrompt } from '../../index.ts';
import type { Renames } from '../body/renamed.ts';
import { askAs } from '../chat/chat-request.ts';
import { type AskedText, textRoute, type TextAnswer } from '../text/text-interface.ts';
import {
  checkThinks,
  GENERATE_NAMES,
  OLLAMA_NAMES,
  plainPrompt,
  promptMessages,
  toChat,
  toMessages,
} from './ollama-chat.ts';
import {
  OLLAMA,
  OLLAMA_ENDPOINTS,
  GENERATE_FIELDS,
  OLLAMA_CHAT_FIELDS,
  type TextBody,
} from './ollama-schema.ts';
import { ollamaForm, type OllamaHead } from './ollama-reply.ts';

const COMMON = { ...OLLAMA, endpoints: OLLAMA_ENDPOINTS, required: ['model'], wholeCalls: true } as const;

export const OLLAMA_CHAT = textRoute({
  summary: "Ollama's chat, with tools, thoughts, schemas and its lines of JSON.",
  ...COMMON,
  fields: OLLAMA_CHAT_FIELDS,
  reply: 'OllamaChat',
  event: 'OllamaChatLine',
  answer(asked) {
    const { body, model } = asked;
    if (!body.messages?.length) return loaded(body, model, { message: { role: 'assistant', content: '' } });
    return said(asked, { route: 'chat', messages: toMessages(body.messages), names: OLLAMA_NAMES });
  },
});

export const OLLAMA_GENERATE = textRoute({
  summary: "Ollama's generate: a reply to a prompt, or a continuation with `raw`.",
  ...COMMON,
  fields: GENERATE_FIELDS,
  reply: 'OllamaGenerate',
  event: 'OllamaGenerateLine',
  async answer(asked) {
    const { body, model } = asked;
    if (!body.prompt && !body.suffix && !body.images?.length) return loaded(body, model, { response: '' });
    const prompt = await plainPrompt(body, model);
    return said(asked, { route: 'generate', messages: promptMessages(body), prompt, names: GENERATE_NAMES });
  },
});

/** Answers a request without a prompt, by which clients load a model before their first real request. */
async function loaded(body: { model: string }, model: TextModel, empty: object): Promise<TextAnswer> {
  await model.tokenize(''); // tokenizing wakes a sleeping model
  const created_at = new Date().toISOString();
  return { reply: { model: body.model, created_at, ...empty, done: true, done_reason: 'load' } };
}

interface Conversation {
  route: OllamaHead['route'];
  messages: ChatMessage[];
  /** Replaces the prompt that the messages would render to; null or left out: they are rendered. */
  prompt?: TextPrompt | null;
  names: Renames;
}

async function said(
  asked: AskedText<TextBody>,
  { route, messages, prompt, names }: Conversation,
): Promise<TextAnswer> {
  const { event, body, model } = asked;
  checkThinks(body, model);
  const startedAt = event.context.call?.startedAt ?? performance.now();
  const { request, rename } = await askAs(
    asked,
    () => toChat(body, messages),
    names,
    (named) => (prompt ? { ...named, prompt } : named),
  );
  const head = { model: body.model, route, logprobs: body.logprobs ?? false, startedAt };
  return {
    requests: [request],
    rename,
    isStream: body.stream ?? true,
    form: ({ runs }, send) => ollamaForm(head, runs[0]!, send),
  };
}
