// /metrics: requests are counted; and /server_info and /model_info.

import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { EngineError, MODEL_KINDS } from '../../../src/index.ts';
import { createFakeEmbeddingModel } from '../fake-embedding-model.ts';
import { openFakeImageModel } from '../fake-image-model.ts';
import { createFakeTranscriptionModel } from '../fake-transcription-model.ts';
import { ask, eventually, start } from '../harness.ts';

/** Reads the samples of the page, by name and labels. */
async function scrape(url: string): Promise<Map<string, number>> {
  const response = await fetch(`${url}/metrics`);
  expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

describe('the route /metrics', () => {
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
    const tokens = (mode: string) => found.get(`svc:realtime_tokens_total{model_name="chat",mode="${mode}"}`);
    expect([tokens('prefill_cache'), tokens('prefill_compute'), tokens('decode')]).toEqual([2, 4, 10]);
    for (const stage of ['queue', 'prefill', 'decode'])
      expect(
        found.get(`svc:per_stage_req_latency_seconds_count{stage="${stage}",model_name="chat"}`) ??
          found.get(`svc:per_stage_req_latency_seconds_count{model_name="chat",stage="${stage}"}`),
      ).toBe(2);
    expect(of('uncached_prompt_tokens_histogram_sum')).toBe(4);
    expect(of('generation_tokens_histogram_count')).toBe(3);
    expect(of('time_to_first_token_seconds_count')).toBe(2);
    expect(of('inter_token_latency_seconds_count')).toBe(2 * 3 + 1);
    expect(of('e2e_request_latency_seconds_count')).toBe(2);
    expect(of('num_aborted_requests_total')).toBeUndefined();
    expect(of('num_running_reqs')).toBe(0);
    expect(of('expert_slot_hits_total')).toBe(5);
    expect(of('expert_slot_misses_total')).toBe(4);
    expect(of('expert_copied_bytes_total')).toBe(700);
    expect(of('context_len')).toBe(4096);
    expect(of('page_size')).toBe(16);
  });

  it('tells how long routes took until their replies began', async () => {
    const { url, post } = await start({}, { names: ['chat'] });
    await (await post(ask('one two'))).json();
    await (await post(ask('wait 40', { stream: true }))).text();
    expect((await post({ messages: 'none' })).status).toBe(400);
    const found = await scrape(url);
    const of = (name: string, route: string) =>
      found.get(`svc:func_latency_seconds_${name}{name="${route}"}`);
    expect(of('count', 'POST /v1/chat/completions')).toBe(3);
    expect(of('count', 'GET /metrics')).toBeUndefined();
    expect((await scrape(url)).get('svc:func_latency_seconds_count{name="GET /metrics"}')).toBe(1);
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
    expect(of('num_so_requests_total')).toBe(1);
  });

  it('says what the engine says of pages, grammars and LoRAs', async () => {
    const { url, model, served } = await start({}, { names: ['chat'], ready: false });
    served.progress({ type: 'load', bytes: 0, totalBytes: 2 });
    await sleep(30);
    served.progress({ type: 'load', bytes: 2, totalBytes: 2 });
    served.ready(model);
    model.adapters = [{ name: 'poet', path: '/poet', rank: 8, requests: 0 }];
    const metrics = {
      ...(await model.metrics()),
      running: 4,
      pages: { used: 3, cached: 1, total: 12, tokensPerPage: 16, bytesPerPage: 1024 },
    };
    model.metrics = () =>
      Promise.resolve({ ...metrics, adapters: { loaded: 1, most: 8 }, generatedTokens: generated });
    let generated = 7;
    const first = await scrape(url);
    const of = (found: Map<string, number>, name: string) => found.get(`svc:${name}{model_name="chat"}`);
    const told = {
      num_grammar_total: 5,
      num_grammar_cache_hit_total: 3,
      num_grammar_aborted_total: 1,
      num_grammar_timeout_total: 4,
      num_grammar_queue_reqs: 2,
      kv_used_tokens: 3 * 16,
      kv_evictable_tokens: 16,
      kv_available_tokens: 8 * 16,
      token_usage: 3 / 12,
      utilization: 4 / 16,
      hicache_host_used_tokens: 3 * 16,
      hicache_host_total_tokens: 8 * 16,
      lora_pool_slots_used: 1,
      lora_pool_slots_total: 8,
      lora_pool_utilization: 1 / 8,
      gen_throughput: 0,
    };
    expect(Object.fromEntries(Object.keys(told).map((name) => [name, of(first, name)]))).toEqual(told);
    expect(of(first, 'weight_load_duration_seconds')).toBeGreaterThan(0.025);
    expect(of(first, 'engine_startup_time')).toBeGreaterThan(of(first, 'weight_load_duration_seconds')!);
    generated += 10;
    metrics.running = 8;
    await sleep(50);
    const second = await scrape(url);
    expect(of(second, 'utilization')).toBe(8 / 16);
    expect(of(second, 'gen_throughput')).toBeGreaterThan(1);
    expect(of(second, 'gen_throughput')).toBeLessThan(10 / 0.045);
    generated = 2; // the model slept in between and counts from 0
    await sleep(50);
    const third = await scrape(url);
    expect(of(third, 'gen_throughput')).toBeGreaterThan(0);
    expect(of(third, 'gen_throughput')).toBeLessThan(2 / 0.045);
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
    server.addModel({ names: ['vectors'], kind: MODEL_KINDS.embedding }).ready(createFakeEmbeddingModel());
    await fetch(`${url}/v1/embeddings`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'vectors', input: ['ab', 'c'] }),
    });
    const found = await scrape(url);
    expect(found.get('svc:prompt_tokens_total{model_name="vectors"}')).toBe(3);
    expect(found.get('svc:num_requests_total{model_name="vectors"}')).toBe(1);
  });

  it('counts sounds that became texts', async () => {
    const { url, server } = await start();
    const model = createFakeTranscriptionModel();
    server.addModel({ names: ['speech'], kind: MODEL_KINDS.transcription }).ready(model);
    const post = async (fields: Record<string, string>) => {
      const body = new FormData();
      body.set('file', new Blob(['sound']), 'a.wav');
      for (const [name, value] of Object.entries({ model: 'speech', ...fields })) body.set(name, value);
      const reply = await fetch(`${url}/v1/audio/transcriptions`, { method: 'POST', body });
      await reply.text();
      return reply.status;
    };
    expect(await post({})).toBe(200);
    expect(await post({ stream: 'true' })).toBe(200);
    expect(await post({ prompt: 'refuse bad_request' })).toBe(400);
    model.generate = async function* () {
      await Promise.resolve();
      yield { type: 'accepted', seconds: 2 };
      throw new EngineError('device_lost', 'the device is lost');
    };
    expect(await post({})).toBe(503);
    const found = await scrape(url);
    const of = (name: string) => found.get(`svc:${name}{model_name="speech"}`);
    expect(of('num_requests_total')).toBe(3);
    expect(of('sound_seconds_total')).toBe(2 * 61.5 + 2);
    expect(of('sound_seconds_histogram_count')).toBe(3);
    expect(of('generation_tokens_total')).toBe(2 * 2);
    expect(of('e2e_request_latency_seconds_count')).toBe(3);
    expect(of('num_aborted_requests_total')).toBe(1);
  });

  it('is open, as probes are', async () => {
    const { url } = await start({ apiKey: 'k' });
    expect((await fetch(`${url}/metrics`)).status).toBe(200);
  });
});

describe('the route /server_info', () => {
  it.each(['/server_info', '/get_server_info'])('%s tells settings and models, and no key', async (path) => {
    const { url, server } = await start(
      { apiKey: 'secret', adminApiKey: 'hush', version: '1.2.3' },
      { names: ['chat'] },
    );
    server.addModel({ names: ['scenes'], kind: MODEL_KINDS.image }).ready(await openFakeImageModel());
    server.addModel({ names: ['late'] });
    server.addModel({ names: ['bad'] }).failed('it broke');
    const response = await fetch(url + path, { headers: { authorization: 'Bearer secret' } });
    const text = await response.text();
    expect(text).not.toMatch(/secret|hush/);
    expect(JSON.parse(text)).toMatchObject({
      model_path: '/models/fake-chat',
      served_model_name: 'chat',
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

it('a model that sleeps is named so', async () => {
  const { url, server, model } = await start({}, { names: ['chat'] });
  const vectors = createFakeEmbeddingModel();
  server.addModel({ names: ['vectors'], kind: MODEL_KINDS.embedding }).ready(vectors);
  const phases = async () => {
    const probe = await fetch(`${url}/readyz`);
    expect(probe.status).toBe(200);
    const { status, models } = (await (await fetch(`${url}/server_info`)).json()) as {
      status: string;
      models: { phase: string }[];
    };
    return [await probe.json(), status, models.map(({ phase }) => phase)];
  };
  const models = ['chat', 'vectors'];
  expect(await phases()).toEqual([{ status: 'ready', models }, 'ready', ['ready', 'ready']]);
  Object.assign(model, { asleep: true });
  expect(await phases()).toEqual([
    { status: 'ready', models, asleep: ['chat'] },
    'ready',
    ['asleep', 'ready'],
  ]);
  Object.assign(vectors, { asleep: true });
  expect(await phases()).toEqual([
    { status: 'asleep', models, asleep: models },
    'asleep',
    ['asleep', 'asleep'],
  ]);
});

describe('the route /model_info', () => {
  it.each(['/model_info', '/get_model_info'])(
    '%s tells of the first model, or of one by name',
    async (path) => {
      const { url, server } = await start({}, { names: ['chat', 'gpt'] });
      server.addModel({ names: ['vectors'], kind: MODEL_KINDS.embedding }).ready(createFakeEmbeddingModel());
      const info = async (query: string) => (await fetch(url + path + query)).json();
      expect(await info('')).toMatchObject({
        model_path: '/models/fake-chat',
        served_model_name: 'chat',
        served_model_names: ['chat', 'gpt'],
        is_generation: true,
        model_type: null,
        architectures: ['Qwen3ForCausalLM'],
        max_model_len: 4096,
      });
      expect(await info('?model=vectors')).toMatchObject({
        kind: 'embedding',
        is_generation: false,
        served_model_name: 'vectors',
        architectures: ['BertModel'],
      });
      expect(await info('?model=none')).toMatchObject({ error: { code: 'model_not_found' } });
    },
  );
});
