// POST /api/chat and /api/generate: Ollama's interface over chat completions.

import type { H3Event } from 'h3';
import type { ChatMessage, TextModel, TextPrompt } from '../../index.ts';
import { toTextRequest } from '../chat/chat-request.ts';
import { validateChat } from '../chat/chat-validation.ts';
import { readUntypedJson } from '../body/json-body.ts';
import { listIgnored } from '../model-call.ts';
import { findTextModel, OLLAMA_ENDPOINTS } from '../models.ts';
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
  createSayings,
  ollamaForm,
  ollamaReply,
  type ReplyHead,
  type Said,
  startClock,
} from './ollama-reply.ts';
import { checkGenerate, checkOllamaChat, type TextBody } from './ollama-schema.ts';
import { partNames } from '../media/named-parts.ts';
import { withMedia } from '../media/request-media.ts';
import { type Renames, renameParam, underNames, underNamesLater } from '../body/renamed.ts';
import { requireRunning, type Service } from '../service.ts';
import { LINES } from '../sse.ts';
import { acceptText, callText, foldText, renamedFor } from '../text/text-call.ts';
import { streamText } from '../text/text-stream.ts';
import { wholeCalls } from '../text/whole-calls.ts';

interface Asked {
  body: TextBody;
  route: ReplyHead['route'];
  model: TextModel;
  adapter: string | undefined;
  messages: ChatMessage[];
  /** Replaces the prompt that the messages would render to; null to render them. */
  prompt: TextPrompt | null;
  names: Renames;
}

export async function ollamaChat(service: Service, event: H3Event): Promise<unknown> {
  requireRunning(service);
  const { body, ignored } = checkOllamaChat(await readUntypedJson(event.req), service.options.strict);
  const { model, adapter } = findTextModel(service, body.model, OLLAMA_ENDPOINTS);
  listIgnored(event, ignored);
  if (!body.messages?.length) return loaded(body, model, { message: { role: 'assistant', content: '' } });
  const messages = toMessages(body.messages);
  const names = OLLAMA_NAMES;
  return answer(service, event, { body, route: 'chat', model, adapter, messages, prompt: null, names });
}

export async function ollamaGenerate(service: Service, event: H3Event): Promise<unknown> {
  requireRunning(service);
  const { body, ignored } = checkGenerate(await readUntypedJson(event.req), service.options.strict);
  const { model, adapter } = findTextModel(service, body.model, OLLAMA_ENDPOINTS);
  listIgnored(event, ignored);
  if (!body.prompt && !body.suffix && !body.images?.length) return loaded(body, model, { response: '' });
  const prompt = await plainPrompt(body, model);
  const messages = promptMessages(body);
  const names = GENERATE_NAMES;
  return answer(service, event, { body, route: 'generate', model, adapter, messages, prompt, names });
}

/** Answers a request without a prompt, by which clients load a model before their first real request. */
async function loaded(body: { model: string }, model: TextModel, said: object) {
  await model.tokenize(''); // tokenizing wakes a sleeping model
  const created_at = new Date().toISOString();
  return { model: body.model, created_at, ...said, done: true, done_reason: 'load' };
}

async function answer(service: Service, event: H3Event, asked: Asked): Promise<unknown> {
  const { body, route, model, adapter, messages, prompt } = asked;
  checkThinks(body, model);
  const clock = startClock(event.context.call?.startedAt ?? performance.now());
  const whole = toChat(body, messages);
  const names = [...partNames(whole), ...asked.names];
  const chat = underNames(names, () => validateChat(whole, false).body);
  const named = underNames(names, () => toTextRequest(chat, adapter));
  const request = await underNamesLater(
    names,
    withMedia(service, event, model, prompt ? { ...named, prompt } : named),
  );
  const rename = (error: unknown) => renameParam(renamedFor(chat)(error), names);
  const call = callText(service, event, model, [request], rename);
  const run = call.runs[0]!;
  run.events = clock.watch(run.events);
  const head = { model: body.model, route, logprobs: body.logprobs ?? false };
  if (body.stream ?? true) {
    await acceptText(call);
    run.events = wholeCalls(run.events);
    return streamText(service, event, call, (send) => ollamaForm(head, run.fold, clock, send), LINES);
  }
  const all: Said[] = [];
  const sayings = createSayings((said) => all.push(said));
  await foldText(call, (part) => sayings.add(part));
  sayings.close();
  return ollamaReply(head, run.fold, clock, all);
}
