// Oversized bodies: each gets a 400 before it is parsed, and reaches no model.

import { describe, expect, it } from 'vitest';
import { MOST_IDS, MOST_TOOLS, MOST_TURNS } from '../../../src/server/body/bounded.ts';
import { MOST_PARTS, MOST_VALUES } from '../../../src/server/body/json-text.ts';
import { fakeInfo } from '../fake-model.ts';
import { ask, start } from '../harness.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

const many = (count: number, one: string): string => `[${Array(count).fill(one).join(',')}]`;

async function refused(
  path: string,
  body: RequestInit['body'] & {},
  headers: Record<string, string> = JSON_TYPE,
) {
  const { url, model } = await start();
  const response = await fetch(url + path, { method: 'POST', headers, body });
  const { error } = (await response.json()) as {
    error: { code: string; param: string | null; message: string } | string;
  };
  expect(response.status).toBe(400);
  expect(model.requests).toEqual([]);
  return typeof error === 'string' ? { message: error } : error;
}

describe.each([false, true])('large bodies, stream %s', (stream) => {
  const chat = (rest: string) =>
    `{"model":"default","stream":${stream},"messages":[{"role":"user","content":"hi"}],${rest}}`;
  const bare = (rest: string) => `{"model":"default","stream":${stream},${rest}}`;
  const tools = Array.from(
    { length: MOST_TOOLS + 1 },
    (_, at) => `{"type":"function","function":{"name":"f${at}"}}`,
  );

  it.each([
    [
      '/v1/completions',
      bare(`"prompt":${many(MOST_PARTS, '{}')}`),
      /more than 262144 texts, lists and objects/,
    ],
    ['/v1/responses', bare(`"input":${many(MOST_PARTS, '{}')}`), /more than 262144 texts, lists and objects/],
    ['/v1/chat/completions', bare(`"user":${many(MOST_VALUES, '1')}`), /more than 2097152 values/],
    [
      '/v1/chat/completions',
      bare(`"messages":${many(MOST_TURNS + 1, '{}')}`),
      /messages must have at most 16384 entries/,
    ],
    [
      '/v1/messages',
      bare(`"max_tokens":1,"messages":${many(MOST_TURNS + 1, '{}')}`),
      /messages must have at most 16384 entries/,
    ],
    [
      '/api/chat',
      bare(`"messages":${many(MOST_TURNS + 1, '{}')}`),
      /messages must have at most 16384 entries/,
    ],
    ['/v1/responses', bare(`"input":${many(MOST_TURNS + 1, '{}')}`), /input must have at most 16384 entries/],
    ['/v1/chat/completions', chat(`"tools":[${tools.join(',')}]`), /tools must have at most 1024 entries/],
    [
      '/v1/chat/completions',
      chat(`"stop_token_ids":${many(257, '1')}`),
      /stop_token_ids must have at most 256 entries/,
    ],
    [
      '/v1/chat/completions',
      bare(`"input_ids":${many(MOST_IDS + 1, '1')}`),
      /input_ids must have at most 1048576 entries/,
    ],
    ['/v1/completions', bare(`"prompt":${many(129, '"a"')}`), /prompt must have at most 128 entries/],
    ['/v1/completions', bare(`"prompt":${many(129, '[1]')}`), /prompt must have at most 128 entries/],
    ['/v1/completions', bare('"prompt":["a",{}]'), /prompt\.1 must be a string, got {}/],
    ['/v1/completions', bare('"prompt":[{},{}]'), /prompt\.0 must be a number or a string or a list, got {}/],
    [
      '/v1/chat/completions',
      chat(`"custom_logit_processor":${JSON.stringify(many(MOST_PARTS, '{}'))}`),
      /custom_logit_processor must be JSON text/,
    ],
    [
      '/v1/chat/completions',
      chat(`"custom_logit_processor":${JSON.stringify(many(17, '{}'))}`),
      /custom_logit_processor must have at most 16 entries/,
    ],
  ])('%s (%$)', async (path, body, message) => {
    expect((await refused(path, body)).message).toMatch(message);
  });

  const ids = many(fakeInfo.contextLength, '7');
  it.each([
    ['/v1/chat/completions', bare(`"input_ids":${ids}`), 'input_ids'],
    ['/v1/completions', bare(`"prompt":${ids}`), 'prompt'],
    ['/v1/completions', bare(`"prompt":[[1],${ids}]`), 'prompt.1'],
  ])('%s with more ids than the context holds', async (path, body, param) => {
    expect(await refused(path, body)).toMatchObject({
      code: 'context_length_exceeded',
      param,
      message: `${param} has 4096 token ids, and the context holds 4095 with a reply; send fewer`,
    });
  });

  it('a name that would change what an object is', async () => {
    expect(await refused('/v1/chat/completions', chat('"logit_bias":{"__proto__":5}'))).toMatchObject({
      param: 'logit_bias.__proto__',
      message: expect.stringContaining('is a name that no entry can have'),
    });
  });

  it('bytes that are not UTF-8, and half of a character', async () => {
    const bytes = Buffer.from(chat('"user":"§§"').replace('"hi"', '"§"'), 'latin1');
    expect(await refused('/v1/chat/completions', bytes)).toMatchObject({ code: 'invalid_json' });
    const half = chat('"user":1').replace('"hi"', String.raw`"\ud800"`);
    expect(await refused('/v1/chat/completions', half)).toMatchObject({
      code: 'invalid_value',
      param: 'messages.0.content',
    });
  });
});

it.each([
  ['/tokenize', `{"prompt":${many(2049, '"a"')}}`, /prompt must have at most 2048 entries/],
  ['/detokenize', `{"tokens":${many(4097, '7')}}`, /tokens has 4097 token ids, and the context holds 4096/],
  ['/detokenize', `{"tokens":[[1],${many(4097, '7')}]}`, /tokens\.1 has 4097 token ids/],
  ['/tokenize', Buffer.from('{"prompt":"\xff\xfe"}', 'latin1'), /not valid UTF-8/],
])('the body of %s (%$) has a bound', async (path, body, message) => {
  expect((await refused(path, body)).message).toMatch(message);
});

it('a body of more fields than there are is refused', async () => {
  const fields = Object.fromEntries(Array.from({ length: 1025 }, (_, at) => [`k${at}`, 1]));
  expect((await refused('/v1/chat/completions', JSON.stringify(fields))).message).toBe(
    'the body has 1025 fields; send at most 1024',
  );
});

it('a form of more parts than there are fields is refused', async () => {
  const form = new FormData();
  for (let at = 0; at < 257; at += 1) form.append('prompt', 'x');
  expect(await refused('/v1/images/edits', form, {})).toMatchObject({
    code: 'invalid_form',
    message: expect.stringContaining('more than 256 parts'),
  });
});

describe('unknown names of a large body are listed', () => {
  it('under a name that every object has, too', async () => {
    const { post } = await start();
    const response = await post(JSON.stringify(ask('hi')).replace('{', '{"__proto__":{"a":1},"toString":1,'));
    expect(response.status).toBe(200);
    expect(response.headers.get('x-svc-ignored')).toBe('__proto__, toString');
    const inner = '"stream_options":{"__proto__":{"a":1}}';
    const nested = await post(JSON.stringify(ask('hi')).replace('{', `{"stream":true,${inner},`));
    expect(nested.headers.get('x-svc-ignored')).toBe('stream_options.__proto__');
  });

  it('as long as a header may be, of however many', async () => {
    const { post } = await start();
    const members = Object.fromEntries(Array.from({ length: 4000 }, (_, at) => [`k${at}`, 1]));
    const response = await post(ask('hi', { stream: true, stream_options: members }));
    expect(response.status).toBe(200);
    expect(response.headers.get('x-svc-ignored')).toMatch(/^stream_options\.k0, .+, \.\.\.$/);
    expect(response.headers.get('x-svc-ignored')!.length).toBeLessThan(1010);
  });
});
