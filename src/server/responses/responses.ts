// /v1/responses: OpenAI's Responses interface over chat completions, with responses kept in memory.

import { randomUUID } from 'node:crypto';
import type { H3Event } from 'h3';
import type { TextRequest } from '../../index.ts';
import { toTextRequest } from '../chat/chat-request.ts';
import { CutShort, RequestError } from '../errors.ts';
import { checkTokenIds } from '../text/generation-request.ts';
import { readJson } from '../body/json-body.ts';
import { listIgnored } from '../model-call.ts';
import { findTextModel } from '../models.ts';
import { partNames } from '../media/named-parts.ts';
import { withMedia } from '../media/request-media.ts';
import { renameParam, underNames, underNamesLater } from '../body/renamed.ts';
import { conversationOf, inputOf, responseNames, toChat } from './response-chat.ts';
import type { InputItem } from './response-items.ts';
import { createOutput, type ResponseOutput } from './response-output.ts';
import { lastStatus, responseForm, type ResponseHead, responseOf, wishesOf } from './response-reply.ts';
import { checkResponse, type ResponseBody } from './response-schema.ts';
import type { StoredResponse } from './response-store.ts';
import { NOT_OFFERED, notOffered, offerTools } from './response-tools.ts';
import { requireRunning, type Service } from '../service.ts';
import { acceptText, callText, renamedFor, replyWhole, type TextCall } from '../text/text-call.ts';
import { streamText } from '../text/text-stream.ts';
import { validateChat } from '../chat/chat-validation.ts';

export async function responses(service: Service, event: H3Event): Promise<unknown> {
  requireRunning(service);
  const { body, ignored } = checkResponse(await readJson(event.req), service.options.strict);
  const { model, adapter } = findTextModel(service, body.model);
  const items = conversationOf(body, service.responses);
  const { tools = [] } = body;
  const left = notOffered(tools, service.options.strict);
  const offered = offerTools(tools, items, items.length - inputOf(body).length);
  const asked = underNames(responseNames(offered), () => toChat(body, items, offered));
  const names = [...partNames(asked), ...responseNames(offered)];
  const chat = underNames(names, () => validateChat(asked, false).body);
  const named = underNames(names, () => {
    checkTokenIds(chat, model.info);
    return fitting(toTextRequest(chat, adapter), body);
  });
  listIgnored(event, [...ignored, ...left]);
  if (left.length > 0) sayNotOffered(service);
  const request = await underNamesLater(names, withMedia(service, event, model, named));
  const rename = (error: unknown) => renameParam(renamedFor(chat)(error), names);
  const call = callText(service, event, model, [request], rename);
  const head: ResponseHead = {
    id: `resp_${randomUUID().replaceAll('-', '')}`,
    created: Math.floor(Date.now() / 1000),
    body,
    offered,
    sampling: model.info.sampling,
  };
  const follow = followed(service, head, items, call);
  const { fold } = call.runs[0]!;
  if (body.stream) {
    await acceptText(call);
    follow.begin();
    return streamText(service, event, call, (send) => responseForm(head, fold, send, follow.end));
  }
  const output = createOutput(() => {}, wishesOf(head));
  follow.begin();
  const whole = () => {
    output.close(lastStatus(fold));
    const response = responseOf(head, fold, output.items());
    follow.end(response, output);
    return response;
  };
  return replyWhole(call, whole, (part) => output.add(part)).catch((error: unknown) => {
    if (!(error instanceof CutShort)) follow.forget();
    throw error;
  });
}

const noted = new WeakSet<Service>();

/** Logs the note once per server. */
function sayNotOffered(service: Service): void {
  if (noted.has(service)) return;
  noted.add(service);
  service.log.warn(
    `a client sends the tool ${NOT_OFFERED}, which OpenAI runs itself: models here are not offered it (said once)`,
  );
}

function fitting(request: TextRequest, { truncation }: ResponseBody): TextRequest {
  const { prompt } = request;
  if (truncation !== 'auto' || !('messages' in prompt)) return request;
  return { ...request, prompt: { ...prompt, dropOldest: true } };
}

/** Tracks a response from its beginning to its end, and stores it if the request asks for that. */
function followed({ responses: store }: Service, head: ResponseHead, items: InputItem[], call: TextCall) {
  const { id, body } = head;
  const keep = (response: StoredResponse['response'], output: InputItem[]): void => {
    if (body.store ?? true) store.set({ response, items: [...items, ...output], input: inputOf(body) });
  };
  return {
    begin() {
      store.running.set(id, call.abort);
      keep(responseOf(head, null, []), []);
    },
    end(response: StoredResponse['response'], output: ResponseOutput) {
      // A response that was deleted while it ran is not stored.
      if (store.running.delete(id)) keep(response, output.items());
    },
    forget() {
      store.running.delete(id);
      store.delete(id);
    },
  };
}

/** Returns the stored response that the request's path names. */
function storedResponse({ responses: store }: Service, { url }: H3Event): StoredResponse {
  const id = url.pathname.split('/')[3] ?? '';
  const stored = store.get(id);
  if (stored) return stored;
  throw new RequestError(
    'not_found',
    `there is no response ${id} here, or no longer; responses are kept in memory, the newest ones, unless store is false`,
  );
}

export const getResponse = (service: Service, event: H3Event) => storedResponse(service, event).response;

export function deleteResponse(service: Service, event: H3Event) {
  const { id } = storedResponse(service, event).response;
  const { running } = service.responses;
  const abort = running.get(id);
  running.delete(id);
  service.responses.delete(id);
  abort?.();
  return { id, object: 'response', deleted: true };
}

export function cancelResponse(service: Service, event: H3Event) {
  const { response } = storedResponse(service, event);
  const abort = service.responses.running.get(response.id);
  if (!abort) {
    throw new RequestError(
      'invalid_value',
      `the response ${response.id} has ended: it is ${response.status}`,
    );
  }
  abort();
  return { ...response, status: 'cancelled' };
}

export function responseInput(service: Service, event: H3Event) {
  const { input } = storedResponse(service, event);
  const data = input.map((item, at) => ({ ...item, id: item['id'] ?? `item_${at}` }));
  return {
    object: 'list',
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: false,
  };
}
