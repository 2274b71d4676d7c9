import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { hashOf, parseKeys } from '../../src/server/api-keys.ts';
import { KeyLimits } from '../../src/server/service/key-limits.ts';
import { createFakeModel } from './fake-model.ts';
import { ask, type Harness, start } from './harness.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-keys-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** How long a test waits for what happens soon. */
const WAIT = { timeout: 30_000, interval: 100 };

const path = join(folder, 'keys.json');
const write = (...keys: object[]): void => writeFileSync(path, JSON.stringify({ keys }));

const send = ({ url }: Harness, key: string, more: object = {}, route = 'v1/chat/completions') =>
  fetch(`${url}/${route}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
    body: JSON.stringify(ask('hi', more)),
  });

const statusOf = async (reply: Promise<Response>): Promise<[number, string?]> => {
  const response = await reply;
  const body = (await response.json()) as { error?: { code: string } };
  return body.error ? [response.status, body.error.code] : [response.status];
};

describe('keys of a file', () => {
  it('have names in the log, models, rights and an end', async () => {
    write(
      { name: 'all', key: 'a', admin: true },
      { name: 'small', sha256: hashOf('s'), models: ['other'] },
      { name: 'old', key: 'o', expires: '2020-01-01' },
    );
    const harness = await start({ apiKeyFile: path });
    for (const name of ['other', 'secret'])
      harness.server.addModel({ names: [name] }).ready(createFakeModel());
    expect(await statusOf(send(harness, 'a'))).toEqual([200]);
    expect(await statusOf(send(harness, 's', { model: 'fake-chat' }))).toEqual([403, 'forbidden_model']);
    for (const model of ['other', 'default'])
      expect(await statusOf(send(harness, 's', { model }))).toEqual([200]);
    expect(await statusOf(send(harness, 'o'))).toEqual([401, 'invalid_api_key']);
    expect(await statusOf(send(harness, 'x'))).toEqual([401, 'invalid_api_key']);
    expect((await fetch(`${harness.url}/v1/models`)).status).toBe(401);
    const listed = await fetch(`${harness.url}/v1/models`, { headers: { authorization: 'Bearer s' } });
    expect(((await listed.json()) as { data: { id: string }[] }).data.map(({ id }) => id)).toEqual(['other']);
    for (const path of ['server_info', 'api/tags', 'api/ps', 'v1/models/nowhere', 'models/sse', 'get_load']) {
      const response = await fetch(`${harness.url}/${path}`, { headers: { authorization: 'Bearer s' } });
      const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
      let shown = '';
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        shown += part.value;
        if (path === 'models/sse') break;
      }
      await reader.cancel();
      if (path === 'get_load') expect(JSON.parse(shown)).toHaveLength(1);
      else expect(shown, path).toContain('other');
      expect(shown, path).not.toContain('secret');
    }
    expect(await statusOf(send(harness, 's', {}, 'flush_cache'))).toEqual([403, 'forbidden_route']);
    await vi.waitFor(
      () => expect(harness.lines).toContainEqual(expect.stringMatching(/200 .*key small/)),
      WAIT,
    );
  });

  it('are bounded by the requests that run, and by requests and tokens of a minute', async () => {
    write(
      { name: 'one', key: '1', max_running: 1 },
      { name: 'two', key: '2', requests_per_minute: 1 },
      { name: 'three', key: '3', tokens_per_minute: 1 },
    );
    const harness = await start({ apiKeyFile: path });
    const running = await send(harness, '1', {
      messages: [{ role: 'user', content: 'hold' }],
      stream: true,
    });
    expect(await statusOf(send(harness, '1'))).toEqual([429, 'rate_limited']);
    await running.body!.cancel();
    await vi.waitFor(async () => expect(await statusOf(send(harness, '1'))).toEqual([200]), WAIT);
    for (const key of ['2', '3']) {
      const first = await send(harness, key);
      expect(first.status).toBe(200);
      expect(first.headers.get(`x-ratelimit-limit-${key === '2' ? 'requests' : 'tokens'}`)).toBe('1');
      await first.text();
      const second = await send(harness, key);
      expect(second.status).toBe(429);
      expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(50);
    }
  });

  it('change with the file, which is kept as it was while it is wrong', async () => {
    write({ name: 'first', key: 'a' });
    const harness = await start({ apiKeyFile: path });
    expect(await statusOf(send(harness, 'a'))).toEqual([200]);
    // The file is looked at once a second; a time of its own makes the change certain.
    const change = (text: string, second: number): void => {
      writeFileSync(path, text);
      utimesSync(path, second, second);
    };
    change('{"keys": [{"name": "no key"}]}', 1000);
    await vi.waitFor(async () => {
      await (await send(harness, 'a')).text();
      expect(harness.lines).toContainEqual(expect.stringContaining('The keys stay as they were'));
    }, WAIT);
    expect(await statusOf(send(harness, 'a'))).toEqual([200]);
    change('# keys\nb\n\nc\n', 2000);
    await vi.waitFor(async () => expect(await statusOf(send(harness, 'b'))).toEqual([200]), WAIT);
    expect(await statusOf(send(harness, 'a'))).toEqual([401, 'invalid_api_key']);
  });

  it.each([
    ['{"keys": []}', 'keys'],
    ['{"keys": [{"name": "a"}]}', 'needs one of key and sha256'],
    ['{"keys": [{"name": "a", "key": "1", "sha256": "00"}]}', '64 hexadecimal digits'],
    ['{"keys": [{"name": "a", "key": "1"}, {"name": "a", "key": "2"}]}', 'two keys are called a'],
    ['{"keys": [{"name": "a", "key": "1"}, {"name": "b", "key": "1"}]}', 'b has the key of another entry'],
    ['{"keys": [{"name": "a", "key": "1", "limit": 3}]}', 'keys.0'],
    ['{\n"keys": sk-secret}', /^((?!secret).)*is not JSON( at line 2)?$/],
    ['{"keys": [{"name": "api-key", "key": "1"}]}', 'the key of an option'],
    ['# nothing\n', 'has no key'],
  ])('%s is refused by what is wrong', (text, reason) => {
    expect(() => parseKeys(text, 'keys.json')).toThrow(reason);
  });
});

it('KeyLimits frees what was used a minute ago', () => {
  let now = 0;
  const limits = new KeyLimits('k', { requestsPerMinute: 2, tokensPerMinute: 10 }, () => now);
  limits.begin()();
  now = 30_000;
  limits.begin()();
  expect(() => limits.begin()).toThrow('try again in 30 s');
  now = 60_000;
  limits.begin()();
  limits.countTokens(11);
  expect(limits.headers()).toMatchObject({
    'x-ratelimit-remaining-requests': '0',
    'x-ratelimit-remaining-tokens': '0',
    'x-ratelimit-reset-tokens': '60s',
  });
});
