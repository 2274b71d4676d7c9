// Requests of the fuzz load are reproducible by number and cover the interface, and its judge detects a wrong answer.

import { createServer } from 'node:http';
import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { askFuzzed } from '../../scripts/soak/fuzz-ask.mjs';
import { BODIES } from '../../scripts/soak/fuzz-bodies.mjs';
import { createFuzz } from '../../scripts/soak/fuzz-requests.mjs';

async function openApi() {
  const { startServer } = await import(new URL('../../src/server/lifecycle.ts', import.meta.url).href);
  const log = Object.fromEntries(['error', 'warn', 'info', 'debug'].map((level) => [level, () => {}]));
  const server = await startServer({ host: '127.0.0.1', port: 0 }, log);
  onTestFinished(() => server.close());
  return (await fetch(`${server.url}/openapi.json`)).json();
}

describe('fuzzed requests', () => {
  it('are the same by seed and number, and others by another seed', async () => {
    const api = await openApi();
    const told = (seed) => Array.from({ length: 300 }, (_, number) => createFuzz(api, seed)(number).about);
    expect(told(7)).toEqual(told(7));
    expect(told(8)).not.toEqual(told(7));
  });

  it('reach every route with a body, and every field of it', async () => {
    const api = await openApi();
    const routes = Object.entries(api.paths).flatMap(([path, { post }]) => (post?.requestBody ? [path] : []));
    expect(Object.keys(BODIES).toSorted()).toEqual(routes.toSorted());
    const fuzz = createFuzz(api, 1);
    const asked = Array.from({ length: 6000 }, (_, number) => fuzz(number).about);
    const bodies = asked.map(({ path, body, form }) => [path, body ?? form]);
    const said = new Set(
      bodies.flatMap(([path, body]) =>
        typeof body === 'object' ? Object.keys(body).map((name) => `${path} ${name}`) : [],
      ),
    );
    const fields = routes.flatMap((path) => {
      const [{ schema }] = Object.values(api.paths[path].post.requestBody.content);
      const { properties } = schema.$ref ? api.components.schemas[schema.$ref.split('/').at(-1)] : schema;
      return Object.keys(properties).map((name) => `${path} ${name}`);
    });
    // Removed from the request, because it would abort those of other clients.
    const missing = fields.filter((field) => !said.has(field) && field !== '/abort_request abort_all');
    expect(missing).toEqual([]);
  });
});

describe('the judge of fuzzed requests', () => {
  async function judged(path, status, body, type = 'application/json') {
    const server = createServer((_, response) =>
      response.writeHead(status, { 'content-type': type }).end(body),
    );
    onTestFinished(() => void server.close());
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const request = { about: {}, method: 'POST', path, body: '{}', headers: {} };
    return askFuzzed(`http://127.0.0.1:${server.address().port}`, request);
  }
  const error = (code) => JSON.stringify({ error: { message: 'm', type: 't', param: null, code } });

  it.each([
    ['/v1/completions', 200, '{}'],
    ['/v1/completions', 400, error('invalid_value')],
    ['/v1/completions', 503, error('timed_out')],
    ['/v1/messages', 400, '{"type":"error","error":{"type":"t","message":"m"}}'],
    ['/api/chat', 400, '{"error":"m"}'],
  ])('takes %s with %d: %s', async (path, status, body) => {
    expect(await judged(path, status, body)).toBe(status);
  });

  it.each([
    ['/v1/completions', 200, '{'],
    ['/v1/completions', 500, error('internal')],
    ['/v1/completions', 503, error('out_of_memory')],
    ['/v1/completions', 400, '{"error":"m"}'],
    ['/v1/messages', 400, error('invalid_value')],
    ['/api/chat', 400, error('invalid_value')],
    ['/v1/completions', 200, `data: ${error('internal')}\n\n`, 'text/event-stream'],
  ])('does not take %s with %d: %s', async (path, status, body, type) => {
    await expect(judged(path, status, body, type)).rejects.toThrow();
  });
});
