// POST /v1/messages and /v1/messages/count_tokens: Anthropic's interface over chat completions.

import { randomUUID } from 'node:crypto';
import { askAs } from '../chat/chat-request.ts';
import { ANTHROPIC_ERRORS } from '../http/errors.ts';
import { whileClientWaits } from '../service/model-call.ts';
import { bodyRoute, type RouteTable } from '../service/route.ts';
import { useTextModel } from '../service/use-model.ts';
import { textRoute } from '../text/text-interface.ts';
import { MESSAGE_NAMES, toChat, toPromptFields, withoutThoughts } from './anthropic-chat.ts';
import { messageForm } from './anthropic-reply.ts';
import { COUNT_FIELDS, MESSAGE_FIELDS } from './anthropic-schema.ts';

const COMMON = {
  group: 'Text',
  errors: ANTHROPIC_ERRORS,
  schemas: [() => import('./anthropic-reply-schema.ts')],
} as const;

const MESSAGES = textRoute({
  summary:
    "Anthropic's messages, with that interface's events and errors, as Claude Code sends them to `ANTHROPIC_BASE_URL`.",
  ...COMMON,
  fields: MESSAGE_FIELDS,
  required: ['model', 'messages', 'max_tokens'],
  reply: 'Message',
  event: 'MessageEvent',
  async answer(asked) {
    const { body, model } = asked;
    const read = model.info.outputFormat.reasoning === null ? withoutThoughts(body) : body;
    const { request, rename } = await askAs(asked, () => toChat(read), MESSAGE_NAMES);
    const head = {
      id: `msg_${randomUUID().replaceAll('-', '')}`,
      model: body.model,
      stopSequences: body.stop_sequences ?? [],
    };
    return {
      requests: [request],
      rename,
      isStream: body.stream ?? false,
      form: ({ runs }, send) => messageForm(head, runs[0]!.fold, send),
    };
  },
});

const COUNT = bodyRoute(
  {
    summary: 'Counts the tokens of a conversation as the model reads it.',
    ...COMMON,
    fields: COUNT_FIELDS,
    required: ['model', 'messages'],
    reply: 'InputTokens',
  },
  async ({ body, ...asked }) => {
    const { service, event } = asked;
    const { model } = await useTextModel(asked, body.model);
    const { request, rename } = await askAs({ ...asked, model }, () => toPromptFields(body), MESSAGE_NAMES);
    const { ids } = await whileClientWaits(service, event, 'the prompt was rendered', (signal) =>
      model.renderPrompt(request.prompt, {}, { signal }).catch((error: unknown) => {
        throw rename(error);
      }),
    );
    return { input_tokens: ids.length };
  },
);

export const ANTHROPIC_ROUTES: RouteTable = {
  '/v1/messages': { POST: MESSAGES },
  '/v1/messages/count_tokens': { POST: COUNT },
};
