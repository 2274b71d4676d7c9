// /metrics: what passes is counted; and /server_info and /model_info.

import { describe, expect, it } from 'vitest';
import { createFakeEmbeddingModel } from './fake-embedding-model.ts';
import { openFakeImageModel } from './fake-image-model.ts';
import { ask, eventually, start } from './harness.ts';

/** The samples of a page, by name and labels. */
async function scrape(url: string): Promise<Map<string, number>> {
  const response = await fetch(`${url}/metrics`);
  expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

describe('/metrics', () => {
  it('counts tokens and times of requests, streaming and not', async () => {
    const { url, post } = await start({}, { names: ['chat'] });
    await (await post(ask('one two three four', { n: 2 }))).json();
    await (await post(ask('one two', { stream: true }))).text();
    const found = await scrape(url);
    const of = (name: string) => found.get(`svc:${name}{model_name="chat"}`);
    expect(of('num_requests_total')).toBe(2);
    expect(of('prompt_tokens_total')).toBe(4 + 2);
    expect(of('generation_tokens_total')).toBe(2 * 4 + 2);
    expect(of('cached_tokens_total')).toBe(2);
    expect(of('prompt_tokens_histogram_sum')).toBe(6);
    expect(of('uncached_prompt_tokens_histogram_sum')).toBe(4);
    expect(of('generation_tokens_histogram_count')).toBe(3);
    expect(of('time_to_first_token_seconds_count')).toBe(2);
    expect(of('inter_token_latency_seconds_count')).toBe(2 * 3 + 1);
    expect(of('e2e_request_latency_seconds_count')).toBe(2);
    expect(of('num_aborted_requests_total')).toBeUndefined();
    expect(of('num_running_reqs')).toBe(0);
    expect(of('context_len')).toBe(4096);
    expect(of('page_size')).toBe(16);
  });

  it('tells how long requests waited and grammars were compiled', async () => {
    const { url, post } = await start({}, { names: ['chat'] });
    await (await post(ask('one two'))).json();
    await (await post(ask('wait 30', { response_format: { type: 'json_object' } }))).json();
    const found = await scrape(url);
    const of = (name: string) => found.get(`svc:${name}{model_name="chat"}`);
    expect(of('queue_time_seconds_count')).toBe(2);
    expect(of('queue_time_seconds_sum')).toBeGreaterThan(0.028);
    expect(of('grammar_compilation_time_seconds_count')).toBe(1);
    expect(of('grammar_compilation_time_seconds_sum')).toBeCloseTo(0.02);
  });

  it('counts requests that end early, and not those that are refused', async () => {
    const { url, post, model } = await start({}, { names: ['chat'] });
    const leaving = new AbortController();
    const hanging = post(ask('hang on', { stream: true }), { signal: leaving.signal });
    await (await hanging).body!.getReader().read();
    leaving.abort();
    await eventually(() => model.running === 0, 'the request ends');
    await post(ask('refuse context_length_exceeded'));
    await post(ask('fail device_lost'));
    const found = await scrape(url);
    expect(found.get('svc:num_requests_total{model_name="chat"}')).toBe(2);
    expect(found.get('svc:num_aborted_requests_total{model_name="chat"}')).toBe(2);
  });

  it('counts texts that became vectors', async () => {
    const { url, server } = await start();
    server.addModel({ names: ['vectors'], kind: 'embedding' }).ready(createFakeEmbeddingModel());
    await fetch(`${url}/v1/embeddings`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'vectors', input: ['ab', 'c'] }),
    });
    const found = await scrape(url);
    expect(found.get('svc:prompt_tokens_total{model_name="vectors"}')).toBe(3);
    expect(found.get('svc:num_requests_total{model_name="vectors"}')).toBe(1);
  });

  it('is open, as probes are', async () => {
    const { url } = await start({ apiKey: 'k' });
    expect((await fetch(`${url}/metrics`)).status).toBe(200);
  });
});

describe('/server_info', () => {
  it.each(['/server_info', '/get_server_info'])('%s tells settings and models, and no key', async (path) => {
    const { url, server } = await start(
      { apiKey: 'secret', adminApiKey: 'hush', version: '1.2.3' },
      { names: ['chat'] },
    );
    server.addModel({ names: ['scenes'], kind: 'image' }).ready(await openFakeImageModel());
    server.addModel({ names: ['late'] });
    server.addModel({ names: ['bad'] }).failed('it broke');
    const response = await fetch(url + path, { headers: { authorization: 'Bearer secret' } });
    const text = await response.text();
    expect(text).not.toMatch(/secret|hush/);
    expect(JSON.parse(text)).toMatchObject({
      version: '1.2.3',
      status: 'starting',
      settings: { host: '127.0.0.1', apiKey: true, adminApiKey: true },
      models: [
        { names: ['chat'], kind: 'text', phase: 'ready', info: { vocabSize: 256 }, metrics: { running: 0 } },
        { names: ['scenes'], kind: 'image', phase: 'ready' },
        { names: ['late'], kind: null, phase: 'starting', progress: null },
        { names: ['bad'], phase: 'failed', reason: 'it broke' },
      ],
    });
  });
});

describe('/model_info', () => {
  it.each(['/model_info', '/get_model_info'])(
    '%s tells of the first model, or of one by name',
    async (path) => {
      const { url, server } = await start({}, { names: ['chat', 'gpt'] });
      server.addModel({ names: ['vectors'], kind: 'embedding' }).ready(createFakeEmbeddingModel());
      const info = async (query: string) => (await fetch(url + path + query)).json();
      expect(await info('')).toMatchObject({
        model_path: '/models/fake-chat',
        served_model_names: ['chat', 'gpt'],
        is_generation: true,
        max_model_len: 4096,
      });
      expect(await info('?model=vectors')).toMatchObject({ kind: 'embedding', is_generation: false });
      expect(await info('?model=none')).toMatchObject({ error: { code: 'model_not_found' } });
    },
  );
});
