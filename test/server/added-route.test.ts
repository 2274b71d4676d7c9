// A route that a program adds: an interface to text models of its own, declared in this file, with its fields, its errors, the form of its
// replies, and its entry in the API page.

import { expect, it } from 'vitest';
import { z } from 'zod';
import type { OpenApi } from '../../src/server/docs/openapi.ts';
import { honoured } from '../../src/server/body/fields.ts';
import { askAs } from '../../src/server/chat/chat-request.ts';
import type { Envelope } from '../../src/server/http/errors.ts';
import { LINES } from '../../src/server/http/sse.ts';
import { textRoute } from '../../src/server/text/text-interface.ts';
import { start } from './harness.ts';

const PLAIN_ERRORS: Envelope = {
  schema: 'PlainError',
  event: ({ body }) => ({ wrong: body.error.message }),
};

const TELL = textRoute({
  summary: 'Tells what comes to mind about a subject.',
  group: 'Text',
  fields: {
    model: honoured(z.string().min(1), 'A served name.'),
    about: honoured(z.string().min(1), 'The subject.'),
    words: honoured(z.int().min(1), 'Most tokens of the reply.'),
    live: honoured(z.boolean(), 'Answer as lines of JSON.', false),
  },
  required: ['model', 'about'],
  reply: 'Told',
  event: 'TellingLine',
  schemas: [
    async () => ({
      Told: z.strictObject({ told: z.string(), ended: z.string() }),
      TellingLine: z.union([z.string(), z.strictObject({ ended: z.string() })]),
      PlainError: z.strictObject({ wrong: z.string() }),
    }),
  ],
  framing: LINES,
  errors: PLAIN_ERRORS,
  async answer(asked) {
    const { model, about, words, live } = asked.body;
    const chat = () => ({
      model,
      messages: [{ role: 'user', content: about }],
      max_completion_tokens: words,
    });
    const { request, rename } = await askAs(asked, chat, [
      ['max_completion_tokens', 'words'],
      ['messages', 'about'],
    ]);
    return {
      requests: [request],
      rename,
      isStream: live ?? false,
      form({ runs }, send) {
        const [choice] = runs[0]!.fold.choices;
        const ended = () => ({ ended: String(choice!.finishReason) });
        return {
          part: (_, part) => void ('text' in part && send(part.text)),
          finish: (error) => send(error ? PLAIN_ERRORS.event(error) : ended()),
          whole: () => ({ told: choice!.text, ...ended() }),
        };
      },
    };
  },
});

const serve = async () => {
  const { url, model } = await start({}, { added: { '/tell': { POST: TELL } } });
  const tell = (body: object) =>
    fetch(`${url}/tell`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'default', ...body }),
    });
  return { url, model, tell };
};

it('an added route answers whole, by a request to the model', async () => {
  const { model, tell } = await serve();
  const response = await tell({ about: 'the open sea', words: 8 });
  expect(await response.json()).toEqual({ told: 'the open sea', ended: 'stop' });
  expect(model.requests).toEqual([
    { prompt: { messages: [{ role: 'user', content: 'the open sea' }] }, maxTokens: 8 },
  ]);
});

it('an added route streams in its own framing', async () => {
  const { tell } = await serve();
  const response = await tell({ about: 'the open sea', live: true });
  expect(response.headers.get('content-type')).toBe('application/x-ndjson');
  const lines = (await response.text()).trimEnd().split('\n');
  expect(
    lines
      .slice(0, -1)
      .map((line) => JSON.parse(line) as string)
      .join(''),
  ).toBe('the open sea');
  expect(JSON.parse(lines.at(-1)!)).toEqual({ ended: 'stop' });
});

it('an added route refuses in its own form, with the names of its fields', async () => {
  const { tell } = await serve();
  const missing = await tell({});
  expect([missing.status, await missing.json()]).toEqual([400, { wrong: 'about is required' }]);
  const wrong = await tell({ about: 'x', words: 0 });
  expect(await wrong.json()).toEqual({ wrong: 'words must be at least 1, got 0' });
  const failed = await tell({ about: 'refuse out_of_memory', live: true });
  expect([failed.status, Object.keys((await failed.json()) as object)]).toEqual([503, ['wrong']]);
});

it('an added route names in a header the fields that it does not read', async () => {
  const { tell } = await serve();
  const response = await tell({ about: 'x', colour: 'blue' });
  expect(response.headers.get('x-svc-ignored')).toBe('colour');
});

it('an added route stands in the API page with its schemas', async () => {
  const { url } = await serve();
  const { paths, components } = (await (await fetch(`${url}/openapi.json`)).json()) as OpenApi;
  const { responses } = paths['/tell']!.post!;
  expect(responses[200]!.content['application/json']!.schema).toEqual({ $ref: '#/components/schemas/Told' });
  expect(responses['default']!.content['application/json']!.schema).toEqual({
    $ref: '#/components/schemas/PlainError',
  });
  expect(Object.keys(components.schemas)).toEqual(
    expect.arrayContaining(['Told', 'TellingLine', 'PlainError']),
  );
});
