import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { ask, start } from './harness.ts';

const CHAT = '/v1/chat/completions';

describe('refusals of the server', () => {
  it.each([
    ['POST', '/', 405, 'method_not_allowed'],
    ['GET', '/v2/models', 404, 'not_found'],
    ['GET', '/v1/%zz', 404, 'not_found'],
    ['GET', '/v1/models/%zz', 404, 'model_not_found'],
    ['GET', '/v1/models/other', 404, 'model_not_found'],
    ['GET', CHAT, 405, 'method_not_allowed'],
    ['DELETE', '/v1/chat/completions', 405, 'method_not_allowed'],
    ['POST', '/health', 405, 'method_not_allowed'],
  ])('%s %s gets %d %s', async (method, path, status, code) => {
    const { url } = await start();
    const response = await fetch(url + path, { method });
    expect(response.status).toBe(status);
    expect(response.headers.has('allow')).toBe(status === 405);
    expect(await response.json()).toEqual({
      error: {
        message: expect.stringMatching(/^[^A-Z].*[^.]$/),
        type: 'invalid_request_error',
        param: expect.toSatisfy(isParam),
        code,
      },
    });
  });

  it.each([
    ['POST', '/chat/completions', 'did you mean POST /v1/chat/completions?'],
    ['POST', '/v1/v1/messages', 'did you mean POST /v1/messages?'],
    ['POST', '/v1/chat/completions/chat/completions', 'did you mean POST /v1/chat/completions?'],
    ['POST', '/v1/chat/completion', 'did you mean POST /v1/chat/completions?'],
    ['POST', '/v1/api/chat', 'did you mean POST /api/chat?'],
    ['POST', '/api/chat/completions', 'did you mean POST /v1/chat/completions?'],
    ['POST', '/v1/chat', 'did you mean POST /v1/chat/completions?'],
    ['GET', '/completion', 'did you mean POST /v1/completions?'],
    ['GET', '/v1/v1/models', 'did you mean GET or POST or DELETE /v1/models?'],
    ['POST', '/v1/audio/speech', 'GET /docs lists what there is'],
    ['GET', '/api/tag', 'GET /docs lists what there is'],
    ['GET', '/v1', 'GET /docs lists what there is'],
    ['GET', '/a', 'GET /docs lists what there is'],
  ])('%s %s, where nobody answers, is told the address that was meant', async (method, path, hint) => {
    const { url } = await start();
    const { error } = (await (await fetch(url + path, { method })).json()) as {
      error: string | { message: string };
    };
    const message = `there is no ${method} ${path} here; ${hint}`;
    expect(error).toEqual(path.startsWith('/api/') ? message : expect.objectContaining({ message }));
  });

  it.each([
    ['GET', '/api/nowhere', 404],
    ['GET', '/api', 404],
    ['DELETE', '/api/chat', 405],
  ])("%s %s has the form of Ollama's errors", async (method, path, status) => {
    const { url } = await start();
    const response = await fetch(url + path, { method });
    expect(response.status).toBe(status);
    expect(await response.json()).toEqual({ error: expect.stringContaining(path) as string });
  });

  it('a compressed body is refused as such', async () => {
    const { post, model } = await start();
    const response = await post(ask('hi'), {
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
    });
    expect(response.status).toBe(415);
    expect(await response.json()).toMatchObject({
      error: {
        code: 'unsupported_content_encoding',
        message: 'the body came with content-encoding gzip, which is not read; send it uncompressed',
      },
    });
    expect(model.requests).toEqual([]);
  });

  it.each([
    ['{"model":', 'application/json', 'invalid_json'],
    ['', 'application/json', 'invalid_json'],
    ['['.repeat(100_000), 'application/json', 'invalid_json'],
    ['['.repeat(100_000) + ']'.repeat(100_000), 'application/json', 'invalid_json'],
    [`{"regex":${'['.repeat(9000)}${']'.repeat(9000)}}`, 'application/json', 'invalid_json'],
    [JSON.stringify(ask('hi')), 'text/plain', 'invalid_content_type'],
    [JSON.stringify(ask('hi')), 'application/x-www-form-urlencoded', 'invalid_content_type'],
  ])('a body of %j as %s gets 400 %s', async (body, type, code) => {
    const { post, model } = await start();
    const response = await post(body, { headers: { 'content-type': type } });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code, type: 'invalid_request_error' } });
    expect(model.requests).toEqual([]);
  });

  it('takes a content type with a charset', async () => {
    const { post } = await start();
    const response = await post(ask('hi'), {
      headers: { 'content-type': 'application/json; charset=utf-8' },
    });
    expect(response.status).toBe(200);
  });

  it('names the field of a broken rule', async () => {
    const { post } = await start();
    const response = await post(ask('hi', { temperature: 3, stream: true }));
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      error: {
        message: 'temperature must be at most 2, got 3',
        type: 'invalid_request_error',
        param: 'temperature',
        code: 'invalid_value',
      },
    });
  });

  it('refuses unknown names under strict and lists them otherwise', async () => {
    const lenient = await start();
    const passed = await lenient.post(ask('hi', { wibble: 1, 'naïve\n': 2 }));
    expect(passed.status).toBe(200);
    expect(passed.headers.get('x-svc-ignored')).toBe('wibble, na%C3%AFve%0A');
    const strict = await start({ strict: true });
    const refused = await strict.post(ask('hi', { wibble: 1 }));
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { param: 'wibble', code: 'unknown_parameter' } });
    const near = await strict.post(ask('hi', { temprature: 1 }));
    expect(await near.json()).toMatchObject({
      error: {
        message:
          'temprature is not a field of this interface; did you mean temperature? Otherwise leave it out, or start the server without --strict',
      },
    });
  });

  it('lets values that ask for nothing pass under strict, whatever the name', async () => {
    const { post } = await start({ strict: true });
    const passed = await post(ask('hi', { wibble: null, wobble: [], metadata2: {} }));
    expect(passed.status).toBe(200);
    expect(passed.headers.get('x-svc-ignored')).toBeNull();
    expect((await post(ask('hi', { guided_json: {} }))).status).toBe(400);
    expect((await post(ask('hi', { wibble: '' }))).status).toBe(400);
  });

  it.each([
    ['guided_json', { type: 'object' }, 'response_format'],
    ['guided_json', {}, 'response_format'],
    ['structured_outputs', {}, 'response_format'],
    ['guided_decoding_backend', 'outlines', 'response_format'],
    ['guided_choice', [], 'regex'],
    ['guided_grammar', '', 'ebnf'],
    ['guided_regex', false, 'regex'],
    ['format', 'json', 'response_format'],
    ['guided_choice', ['a', 'b'], 'regex'],
    ['grammar', 'root ::= "a"', 'ebnf'],
  ])('refuses %s, which other servers hold the text to', async (name, value, own) => {
    const { post, model } = await start();
    const refused = await post(ask('hi', { [name]: value }));
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({
      error: {
        param: name,
        code: 'unsupported',
        message: `${name} is another server's name for what ${own} says here; send that`,
      },
    });
    expect(model.requests).toEqual([]);
    expect((await post(ask('hi', { [name]: null }))).status).toBe(200);
  });

  it('lists unknown members of what it knows, but for those without a value', async () => {
    const { post } = await start();
    const described = { name: 'f', parameters: { type: 'object', anything: 1 }, wobble: 2 };
    const passed = await post({
      model: 'default',
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'hi', cache_control: { type: 'ephemeral' } }] },
        {
          role: 'assistant',
          content: 'ha',
          refusal: null,
          annotations: [],
          thinking: 'hm',
          mood: 'good',
          tool_calls: [{ id: 'a', cost: 1, function: { name: 'f', arguments: '{}', hint: 'x' } }],
        },
        { role: 'user', content: 'ho' },
      ],
      tools: [{ type: 'function', function: described, cached: true }],
      response_format: { type: 'text', wubble: 3 },
      reasoning: { effort: 'low', exclude: false },
      stream: true,
      stream_options: { include_usage: true, include_obfuscation: true },
    });
    expect(passed.headers.get('x-svc-ignored')?.split(', ').toSorted()).toEqual([
      'messages.0.content.0.cache_control',
      'messages.1.mood',
      'messages.1.tool_calls.0.cost',
      'messages.1.tool_calls.0.function.hint',
      'reasoning.exclude',
      'response_format.wubble',
      'stream_options.include_obfuscation',
      'tools.0.cached',
      'tools.0.function.wobble',
    ]);
    await passed.text();
  });
});

describe('a body over 64 MiB', () => {
  const big = 'x'.repeat(1024 * 1024);

  it('gets 413 by its length', async () => {
    const { post, model } = await start();
    const response = await post(ask(big.repeat(65)));
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ error: { code: 'request_too_large' } });
    expect(model.requests).toEqual([]);
  });

  it('is stopped where it comes in chunks without a length', async () => {
    const { url, model, lines } = await start();
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    socket.write(
      `POST ${CHAT} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
    );
    const chunk = `100000\r\n${big}\r\n`;
    for (let written = 0; written < 70; written += 1) socket.write(chunk);
    await expect.poll(() => lines.some((line) => line.includes(' 413')), { timeout: 20_000 }).toBe(true);
    expect(model.requests).toEqual([]);
    socket.destroy();
  });

  it('passes just below', async () => {
    const { post } = await start();
    expect((await post(ask(big.repeat(63), { max_tokens: 1 }))).status).toBe(200);
  });
});

describe('the request id', () => {
  it.each([
    ['abc-123', true],
    ['x'.repeat(129), false],
    ['a b', false],
  ])('%s is kept: %s', async (id, kept) => {
    const { url } = await start();
    const response = await fetch(`${url}/v1/models`, { headers: { 'x-request-id': id } });
    const answered = response.headers.get('x-request-id');
    if (kept) expect(answered).toBe(id);
    else expect(answered).toMatch(/^req_/);
  });
});

it('the log has probes only when debugging', async () => {
  const { url, lines } = await start();
  await fetch(`${url}/livez`);
  await fetch(`${url}/v1/models`);
  await expect.poll(() => lines.map((line) => line.split(' ')[0])).toEqual(['debug', 'info']);
});

function isParam(value: unknown): boolean {
  return value === null || value === 'model';
}

it('the log has why a request was refused, and in full if asked for details', async () => {
  const { post, lines } = await start();
  await post(ask('hi', { temperature: 3 }));
  await expect.poll(() => lines.length).toBe(2);
  const [detail = '', line = ''] = lines;
  expect(line).toMatch(/^info POST \/v1\/chat\/completions 400 invalid_value \(temperature\) · /);
  expect(detail).toMatch(/^debug req_\S+ temperature must be at most 2, got 3$/);
});
