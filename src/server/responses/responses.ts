// /v1/responses: OpenAI's Responses interface over chat completions, with responses kept in memory.

import { randomUUID } from 'node:crypto';
import type { H3Event } from 'h3';
import type { TextRequest } from '../../index.ts';
import { askAs } from '../chat/chat-request.ts';
import { RequestError } from '../http/errors.ts';
import { listIgnored } from '../service/model-call.ts';
import type { RouteTable } from '../service/route.ts';
import type { Service } from '../service/service.ts';
import type { TextCall } from '../text/text-call.ts';
import { textRoute } from '../text/text-interface.ts';
import { conversationOf, inputOf, responseNames, toChat } from './response-chat.ts';
import type { InputItem } from './response-items.ts';
import { type Follow, responseForm, type ResponseHead, responseOf } from './response-reply.ts';
import { RESPONSE_FIELDS, type ResponseBody } from './response-schema.ts';
import { createResponseStore, type ResponseStore, type StoredResponse } from './response-store.ts';
import { NOT_OFFERED, notOffered, offerTools } from './response-tools.ts';

const storeOf = (service: Service): ResponseStore => service.kept(createResponseStore);

const COMMON = { group: 'Text', schemas: [() => import('./response-reply-schema.ts')] } as const;

const RESPONSES = textRoute({
  summary:
    "OpenAI's responses, kept in memory for `previous_response_id`; function, custom, namespace and client-run search tools, as Codex sends them.",
  ...COMMON,
  fields: RESPONSE_FIELDS,
  required: ['input', 'model'],
  reply: 'ResponseReply',
  event: 'ResponseEvent',
  async answer(asked) {
    const { service, event, body, ignored, model } = asked;
    const items = conversationOf(body, storeOf(service));
    const { tools = [] } = body;
    const left = notOffered(tools, service.options.strict);
    const offered = offerTools(tools, items, items.length - inputOf(body).length);
    listIgnored(event, [...ignored, ...left]);
    if (left.length > 0) sayNotOffered(service);
    const chat = () => toChat(body, items, offered);
    const { request, rename } = await askAs(asked, chat, responseNames(offered), (named) =>
      fitting(named, body),
    );
    const head: ResponseHead = {
      id: `resp_${randomUUID().replaceAll('-', '')}`,
      created: Math.floor(Date.now() / 1000),
      body,
      offered,
      sampling: model.info.sampling,
    };
    return {
      requests: [request],
      rename,
      isStream: body.stream ?? false,
      form: (call, send) =>
        responseForm(head, call.runs[0]!.fold, followed(storeOf(service), head, items, call), send),
    };
  },
});

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
function followed(store: ResponseStore, head: ResponseHead, items: InputItem[], call: TextCall): Follow {
  const { id, body } = head;
  const keep = (response: StoredResponse['response'], output: InputItem[]): void => {
    if (body.store ?? true) store.set({ response, items: [...items, ...output], input: inputOf(body) });
  };
  return {
    begin() {
      store.running.set(id, call.abort);
      keep(responseOf(head, null, []), []);
    },
    end(response, output) {
      // A response that was deleted while it ran is not stored.
      if (store.running.delete(id)) keep(response, output);
    },
    forget() {
      store.running.delete(id);
      store.delete(id);
    },
  };
}

/** Returns the stored response that the request's path names. */
function storedResponse(service: Service, { url }: H3Event): StoredResponse {
  const id = url.pathname.split('/')[3] ?? '';
  const stored = storeOf(service).get(id);
  if (stored) return stored;
  throw new RequestError(
    'not_found',
    `there is no response ${id} here, or no longer; responses are kept in memory, the newest ones, unless store is false`,
  );
}

const getResponse = (service: Service, event: H3Event) => storedResponse(service, event).response;

function deleteResponse(service: Service, event: H3Event) {
  const { id } = storedResponse(service, event).response;
  const store = storeOf(service);
  const abort = store.running.get(id);
  store.running.delete(id);
  store.delete(id);
  abort?.();
  return { id, object: 'response', deleted: true };
}

function cancelResponse(service: Service, event: H3Event) {
  const { response } = storedResponse(service, event);
  const abort = storeOf(service).running.get(response.id);
  if (!abort) {
    throw new RequestError(
      'invalid_value',
      `the response ${response.id} has ended: it is ${response.status}`,
    );
  }
  abort();
  return { ...response, status: 'cancelled' };
}

function responseInput(service: Service, event: H3Event) {
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

export const RESPONSE_ROUTES: RouteTable = {
  '/v1/responses': { POST: RESPONSES },
  '/v1/responses/:id': {
    GET: { handle: getResponse, summary: 'Returns a stored response.', ...COMMON, reply: 'ResponseReply' },
    DELETE: {
      handle: deleteResponse,
      summary: 'Deletes a stored response.',
      ...COMMON,
      reply: 'DeletedResponse',
    },
  },
  '/v1/responses/:id/input_items': {
    GET: {
      handle: responseInput,
      summary: 'Input items of a stored response.',
      ...COMMON,
      reply: 'InputItems',
    },
  },
  '/v1/responses/:id/cancel': {
    POST: {
      handle: cancelResponse,
      summary: 'Cancels a response in progress.',
      ...COMMON,
      reply: 'ResponseReply',
    },
  },
};
