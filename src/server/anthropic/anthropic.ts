// POST /v1/messages and /v1/messages/count_tokens: Anthropic's interface over chat completions.

import { randomUUID } from 'node:crypto';
import type { H3Event } from 'h3';
import { MESSAGE_NAMES, toChat, toPromptFields, withoutThoughts } from './anthropic-chat.ts';
import { createBlocks, messageForm, messageOf } from './anthropic-reply.ts';
import { checkCount, checkMessages } from './anthropic-schema.ts';
import { toTextRequest } from '../chat/chat-request.ts';
import { readJson } from '../body/json-body.ts';
import { listIgnored } from '../model-call.ts';
import { findTextModel } from '../models.ts';
import { renameParam, underNames } from '../body/renamed.ts';
import { requireRunning, type Service } from '../service.ts';
import { acceptText, callText, foldText, renamedFor } from '../text/text-call.ts';
import { streamText } from '../text/text-stream.ts';
import { validateChat } from '../chat/chat-validation.ts';

export async function anthropicMessages(service: Service, event: H3Event): Promise<unknown> {
  requireRunning(service);
  const { body, ignored } = checkMessages(await readJson(event.req), service.options.strict);
  const { model, adapter } = findTextModel(service, body.model);
  const asked = model.info.outputFormat.reasoning === null ? withoutThoughts(body) : body;
  const chat = underNames(MESSAGE_NAMES, () => validateChat(toChat(asked), false).body);
  const request = underNames(MESSAGE_NAMES, () => toTextRequest(chat, adapter));
  listIgnored(event, ignored);
  const rename = (error: unknown) => renameParam(renamedFor(chat)(error), MESSAGE_NAMES);
  const call = callText(service, event, model, [request], rename);
  const head = {
    id: `msg_${randomUUID().replaceAll('-', '')}`,
    model: body.model,
    stopSequences: body.stop_sequences ?? [],
  };
  const { fold } = call.runs[0]!;
  if (body.stream) {
    await acceptText(call);
    return streamText(service, event, call, (send) => messageForm(head, fold, send));
  }
  const blocks = createBlocks(() => {});
  await foldText(call, (part) => blocks.add(part));
  blocks.close();
  return messageOf(head, fold, blocks.all());
}

export async function countTokens(service: Service, event: H3Event) {
  requireRunning(service);
  const { body, ignored } = checkCount(await readJson(event.req), service.options.strict);
  const { model } = findTextModel(service, body.model);
  const chat = underNames(MESSAGE_NAMES, () => validateChat(toPromptFields(body), false).body);
  listIgnored(event, ignored);
  const { prompt } = underNames(MESSAGE_NAMES, () => toTextRequest(chat));
  const { ids } = await model.renderPrompt(prompt);
  return { input_tokens: ids.length };
}
