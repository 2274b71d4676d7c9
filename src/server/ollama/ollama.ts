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
  type GenerateBody,
  type TextBody,
} from './ollama-schema.ts';
import type { Service } from '../service/service.ts';
import { expire, keepAliveOf } from './keep-alive.ts';
import { ollamaForm, type OllamaHead } from './ollama-reply.ts';

const NO_MESSAGE = { message: { role: 'assistant', content: '' } };
const NO_RESPONSE = { response: '' };

const asksNothing = ({ prompt, suffix, images }: Partial<GenerateBody>): boolean =>
  !prompt && !suffix && !images?.length;

const COMMON = { ...OLLAMA, endpoints: OLLAMA_ENDPOINTS, required: ['model'], wholeCalls: true } as const;

export const OLLAMA_CHAT = textRoute({
  summary: "Ollama's chat, with tools, thoughts, schemas and its lines of JSON.",
  ...COMMON,
  fields: OLLAMA_CHAT_FIELDS,
  reply: 'OllamaChat',
  event: 'OllamaChatLine',
  keepAlive: ({ keep_alive: value }) => keepAliveOf(value),
  beforeOpen: (service, body) => unloaded(service, body, !body.messages?.length, NO_MESSAGE),
  answer(asked) {
    const { body, model } = asked;
    if (!body.messages?.length) return loaded(body, model, NO_MESSAGE);
    return said(asked, { route: 'chat', messages: toMessages(body.messages), names: OLLAMA_NAMES });
  },
});

export const OLLAMA_GENERATE = textRoute({
  summary: "Ollama's generate: a reply to a prompt, or a continuation with `raw`.",
  ...COMMON,
  fields: GENERATE_FIELDS,
  reply: 'OllamaGenerate',
  event: 'OllamaGenerateLine',
  keepAlive: ({ keep_alive: value }) => keepAliveOf(value),
  beforeOpen: (service, body) => unloaded(service, body, asksNothing(body), NO_RESPONSE),
  async answer(asked) {
    const { body, model } = asked;
    if (asksNothing(body)) return loaded(body, model, NO_RESPONSE);
    const prompt = await plainPrompt(body, model);
    return said(asked, { route: 'generate', messages: promptMessages(body), prompt, names: GENERATE_NAMES });
  },
});

/** Answers a request without a prompt, by which clients load a model before their first real request. */
async function loaded(body: { model: string }, model: TextModel, empty: object): Promise<TextAnswer> {
  await model.tokenize(''); // tokenizing wakes a sleeping model
  return { reply: nothingSaid(body, empty, 'load') };
}

/** Answers a request without a prompt that asks for its model to be closed; undefined: it asks for something else. */
async function unloaded(
  service: Service,
  body: Pick<TextBody, 'model' | 'keep_alive'>,
  isEmpty: boolean,
  empty: object,
): Promise<object | undefined> {
  if (!isEmpty || keepAliveOf(body.keep_alive) !== 0) return undefined;
  return (await expire(service, body.model)) ? nothingSaid(body, empty, 'unload') : undefined;
}

const nothingSaid = ({ model }: { model: string }, empty: object, reason: 'load' | 'unload') => ({
  model,
  created_at: new Date().toISOString(),
  ...empty,
  done: true,
  done_reason: reason,
});

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
