// POST /v1/messages and /v1/messages/count_tokens: Anthropic's interface over chat completions.

import { randomUUID } from 'node:crypto';
import type { H3Event } from 'h3';
import { MESSAGE_NAMES, toChat, toPromptFields, withoutThoughts } from './anthropic-chat.ts';
import { createBlocks, messageForm, messageOf } from './anthropic-reply.ts';
import { checkCount, checkMessages } from './anthropic-schema.ts';
import { toTextRequest } from '../chat/chat-request.ts';
import { readJson } from '../body/json-body.ts';
import { listIgnored, whileClientWaits } from '../model-call.ts';
import { findTextModel } from '../models.ts';
import { partNames } from '../media/named-parts.ts';
import { withMedia } from '../media/request-media.ts';
import { renameParam, underNames, underNamesLater } from '../body/renamed.ts';
import { requireRunning, type Service } from '../service.ts';
import { acceptText, callText, foldText, renamedFor } from '../text/text-call.ts';
import { streamText } from '../text/text-stream.ts';
import { validateChat } from '../chat/chat-validation.ts';

export async function anthropicMessages(service: Service, event: H3Event): Promise<unknown> {
  requireRunning(service);
  const { body, ignored } = checkMessages(await readJson(event.req), service.options.strict);
  const { model, adapter } = findTextModel(service, body.model);
  const asked = model.info.outputFormat.reasoning === null ? withoutThoughts(body) : body;
  const { chat, names } = chatOf(() => toChat(asked));
  const named = underNames(names, () => toTextRequest(chat, adapter));
  listIgnored(event, ignored);
  const request = await underNamesLater(names, withMedia(service, event, model, named));
  const rename = (error: unknown) => renameParam(renamedFor(chat)(error), names);
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
  const { chat, names } = chatOf(() => toPromptFields(body));
  listIgnored(event, ignored);
  const named = underNames(names, () => toTextRequest(chat));
  const { prompt } = await underNamesLater(names, withMedia(service, event, model, named));
  const rendered = whileClientWaits(service, event, 'the prompt was rendered', (signal) =>
    model.renderPrompt(prompt, {}, { signal }).catch((error: unknown) => {
      throw renamedFor(chat)(error);
    }),
  );
  const { ids } = await underNamesLater(names, rendered);
  return { input_tokens: ids.length };
}

/** The chat completion that stands for a request, and the names of its fields there. */
function chatOf(convert: () => object) {
  const asked = underNames(MESSAGE_NAMES, convert);
  const names = [...partNames(asked), ...MESSAGE_NAMES];
  return { chat: underNames(names, () => validateChat(asked, false).body), names };
}
