import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { isAllowedOrigin } from '../../src/server/access.ts';
import { ask, start } from './harness.ts';

/** fetch() does not let a caller choose the Host header. */
function statusWithHost(url: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request(`${url}/v1/models`, { headers: { host } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });
}

describe('the Host header', () => {
  it.each([
    ['localhost', 200],
    ['localhost:30000', 200],
    ['app.localhost', 200],
    ['127.0.0.1:1', 200],
    ['[::1]:80', 200],
    ['evil.example', 403],
    ['localhost.evil.example', 403],
    ['127.0.0.1.evil.example', 403],
  ])('%s gets %d on loopback', async (host, status) => {
    const { url } = await start();
    expect(await statusWithHost(url, host)).toBe(status);
  });

  it('may be any name where the server listens to the network', async () => {
    const { server, lines } = await start({ host: '0.0.0.0' });
    const url = server.url.replace('0.0.0.0', '127.0.0.1');
    expect(await statusWithHost(url, 'box.example')).toBe(200);
    expect(lines).toContainEqual(expect.stringMatching(/^warn .*--api-key/));
  });
});

describe('allowed origins', () => {
  it.each([
    ['http://localhost:5173', true],
    ['https://localhost', true],
    ['http://127.0.0.1:8080', true],
    ['http://[::1]:3000', true],
    ['http://ui.localhost', true],
    ['app://main', true],
    ['tauri://localhost', true],
    ['vscode-webview://0a1b', true],
    ['chrome-extension://abc', false],
    ['null', false],
    ['https://example.com', false],
    ['http://localhost.example.com', false],
    ['not an origin', false],
  ])('%s: %s', (origin, allowed) => {
    expect(isAllowedOrigin(origin)).toBe(allowed);
  });

  it('answers a preflight with the headers that were asked for', async () => {
    const { url } = await start({ apiKey: 'k' });
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'OPTIONS',
      headers: {
        origin: 'http://localhost:5173',
        'access-control-request-headers': 'authorization,x-stainless-os',
      },
    });
    expect(response.status).toBe(204);
    expect(response.headers.get('access-control-allow-origin')).toBe('http://localhost:5173');
    expect(response.headers.get('access-control-allow-headers')).toBe('authorization,x-stainless-os');
    expect(response.headers.get('access-control-allow-methods')).toContain('POST');
  });

  it('puts the headers on streams and on errors too', async () => {
    const { post } = await start();
    const headers = { 'content-type': 'application/json', origin: 'app://main' };
    const stream = await post(ask('hi', { stream: true }), { headers });
    await stream.text();
    const error = await post(ask('hi', { n: 0 }), { headers });
    for (const response of [stream, error]) {
      expect(response.headers.get('access-control-allow-origin')).toBe('app://main');
      expect(response.headers.get('access-control-expose-headers')).toContain('x-request-id');
    }
    expect(error.status).toBe(400);
  });

  it('adds origins by option, and no others', async () => {
    const { url } = await start({ corsOrigins: ['https://chat.example'] });
    const allowed = async (origin: string) =>
      (await fetch(`${url}/v1/models`, { headers: { origin } })).headers.get('access-control-allow-origin');
    expect(await allowed('https://chat.example')).toBe('https://chat.example');
    expect(await allowed('https://evil.example')).toBeNull();
    expect(await allowed('null')).toBeNull();
    const { url: files } = await start({ corsOrigins: ['null'] });
    const page = await fetch(`${files}/v1/models`, { headers: { origin: 'null' } });
    expect(page.headers.get('access-control-allow-origin')).toBe('null');
    const { url: open } = await start({ corsOrigins: ['*'] });
    const response = await fetch(`${open}/v1/models`, { headers: { origin: 'https://any.example' } });
    expect(response.headers.get('access-control-allow-origin')).toBe('https://any.example');
  });
});

describe('a POST or DELETE of a web page', () => {
  const EVIL = 'https://evil.example';
  const JSON_TYPE = { 'content-type': 'application/json' };

  it.each<[Record<string, string>, number]>([
    [{}, 200],
    [{ origin: 'http://localhost:5173' }, 200],
    [{ origin: 'http://localhost:5173', 'sec-fetch-site': 'cross-site' }, 200],
    [{ origin: 'app://main', 'sec-fetch-site': 'cross-site' }, 200],
    [{ origin: 'https://chat.example', 'sec-fetch-site': 'cross-site' }, 200],
    [{ origin: 'https://box.example', 'sec-fetch-site': 'same-origin' }, 200],
    [{ origin: 'https://box.example', 'sec-fetch-site': 'same-site' }, 200],
    [{ 'sec-fetch-site': 'none' }, 200],
    [{ origin: EVIL }, 403],
    [{ origin: 'null' }, 403],
    [{ origin: EVIL, 'sec-fetch-site': 'cross-site' }, 403],
    [{ origin: 'null', 'sec-fetch-site': 'cross-site' }, 403],
    [{ 'sec-fetch-site': 'cross-site' }, 403],
    [{ origin: EVIL, 'content-type': 'text/plain' }, 403],
    [{ origin: EVIL, 'content-type': 'application/x-www-form-urlencoded' }, 403],
    [{ origin: EVIL, 'content-type': 'text/plain; application/json' }, 403],
  ])('that carries no JSON, with %j, gets %d', async (headers, status) => {
    const { url, model } = await start({ corsOrigins: ['https://chat.example'] });
    let flushes = 0;
    model.flushCache = async () => (flushes++, true);
    const response = await fetch(`${url}/flush_cache`, { method: 'POST', headers });
    expect(response.status).toBe(status);
    expect(flushes).toBe(status === 200 ? 1 : 0);
    if (status === 403)
      expect(await response.json()).toMatchObject({
        error: { code: 'forbidden_origin', type: 'permission_error', param: null },
      });
  });

  it('passes as JSON: a browser has asked before, and was told no', async () => {
    const { url, post } = await start();
    const asked = { 'access-control-request-private-network': 'true', origin: EVIL };
    const preflight = await fetch(`${url}/v1/chat/completions`, { method: 'OPTIONS', headers: asked });
    const names = [...preflight.headers.keys()].filter((name) => name.startsWith('access-control'));
    expect(names).toEqual([]);
    expect((await post(ask('hi'), { headers: { ...JSON_TYPE, origin: EVIL } })).status).toBe(200);
  });

  it('passes from a page that was served under the name it asks', async () => {
    const { server } = await start({ host: '0.0.0.0' });
    const url = server.url.replace('0.0.0.0', '127.0.0.1');
    const flush = (host: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const headers = { host, origin: 'https://box.example' };
        request(`${url}/flush_cache`, { method: 'POST', headers }, (response) => {
          response.resume();
          resolve(response.statusCode);
        })
          .on('error', reject)
          .end();
      });
    expect(await flush('box.example')).toBe(200);
    expect(await flush('other.example')).toBe(403);
  });

  it.each([
    ['POST', '/api/chat'],
    ['POST', '/v1/images/edits'],
    ['POST', '/v1/responses/resp_1/cancel'],
    ['DELETE', '/v1/responses/resp_1'],
    ['POST', '/v1/messages'],
  ])('is refused by every route: %s %s', async (method, path) => {
    const { url } = await start();
    const response = await fetch(url + path, {
      method,
      headers: { origin: EVIL, ...(method === 'POST' && { 'content-type': 'text/plain' }) },
      ...(method === 'POST' && { body: '{}' }),
    });
    expect(response.status).toBe(403);
  });
});

describe('the API key', () => {
  const get = (url: string, authorization?: string) =>
    fetch(url, authorization === undefined ? {} : { headers: { authorization } });

  it.each([
    [undefined, 401],
    ['secret', 401],
    ['Bearer wrong', 401],
    ['Bearer secret2', 401],
    ['Bearer secret', 200],
    ['bearer secret', 200],
  ])('of %s gets %d', async (authorization, status) => {
    const { url } = await start({ apiKey: 'secret' });
    const response = await get(`${url}/v1/models`, authorization);
    expect(response.status).toBe(status);
    if (status === 401) {
      expect(response.headers.get('www-authenticate')).toBe('Bearer');
      expect(await response.json()).toMatchObject({
        error: { code: 'invalid_api_key', type: 'authentication_error' },
      });
    }
  });

  it.each(['/livez', '/readyz', '/health'])('is not asked for by %s', async (path) => {
    const { url } = await start({ apiKey: 'secret' });
    expect((await get(url + path)).status).toBe(200);
  });
});

describe('API keys', () => {
  const status = async (url: string, path: string, headers: Record<string, string>) =>
    (await fetch(url + path, { headers })).status;

  it('come as a bearer token or in x-api-key', async () => {
    const { url } = await start({ apiKey: 'k' });
    expect(await status(url, '/v1/models', { authorization: 'bearer k' })).toBe(200);
    expect(await status(url, '/v1/models', { authorization: 'Bearer k, Bearer k' })).toBe(200);
    expect(await status(url, '/v1/models', { authorization: 'Bearer x, Bearer k' })).toBe(401);
    expect(await status(url, '/v1/models', { 'x-api-key': 'k' })).toBe(200);
    expect(await status(url, '/v1/models', { 'x-api-key': 'other' })).toBe(401);
    expect(await status(url, '/v1/models', {})).toBe(401);
  });

  it("the administrator's opens what another opens", async () => {
    const { url } = await start({ apiKey: 'k', adminApiKey: 'a' });
    expect(await status(url, '/v1/models', { authorization: 'Bearer a' })).toBe(200);
    expect(await status(url, '/v1/models', { authorization: 'Bearer b' })).toBe(401);
  });

  it('a slash at the end of an address opens nothing', async () => {
    const { url } = await start({ apiKey: 'k', adminApiKey: 'a' });
    const headers = { authorization: 'Bearer k' };
    expect((await fetch(`${url}/flush_cache/`, { method: 'POST', headers })).status).toBe(401);
  });

  it("the administrator's alone leaves the rest open", async () => {
    const { url } = await start({ adminApiKey: 'a' });
    expect(await status(url, '/v1/models', {})).toBe(200);
  });
});
