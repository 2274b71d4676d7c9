// /get_load, /metrics and /server_info of a model of several replicas, and its LoRAs.

import { expect, it } from 'vitest';
import { EMBEDDING } from '../../../src/host/kinds/embedding.ts';
import { TEXT } from '../../../src/host/kinds/text.ts';
import { openReplicas } from '../../../src/host/session/replicas.ts';
import { createFakeEmbeddingModel } from '../fake-embedding-model.ts';
import { createFakeModel } from '../fake-model.ts';
import { ask, start } from '../harness.ts';

async function startReplicas() {
  const harness = await start({}, { ready: false });
  const fakes = [createFakeModel(), createFakeModel()];
  const given: object[] = [];
  const model = await openReplicas(
    TEXT,
    { model: 'fake', dpSize: 2, maxQueuedRequests: 9 },
    async (options) => {
      given.push(options);
      return fakes[given.length - 1]!;
    },
  );
  harness.served.ready(model);
  const read = async (path: string) => (await fetch(harness.url + path)).json();
  return { ...harness, fakes, given, replicated: model, read };
}

it('each replica tells its load, and a reply its replica', async () => {
  const { fakes, given, url, read, post } = await startReplicas();
  expect(given).toMatchObject([
    { replica: 0, maxQueuedRequests: 5 },
    { replica: 1, maxQueuedRequests: 5 },
  ]);
  const pages = { used: 3, cached: 1, total: 8, tokensPerPage: 16, bytesPerPage: 1024 };
  const { metrics } = fakes[1]!;
  fakes[1]!.metrics = async () => ({ ...(await metrics()), running: 1, waiting: 2, pages });
  const idle = { num_reqs: 0, num_waiting_reqs: 0, num_tokens: 0, max_total_num_tokens: 0 };
  const busy = { num_reqs: 3, num_waiting_reqs: 2, num_tokens: 48, max_total_num_tokens: 128 };
  const loads = [
    { dp_rank: 0, ...idle },
    { dp_rank: 1, ...busy },
  ];
  expect(await read('/get_load')).toEqual(loads);
  expect(await read('/get_load?model=default')).toEqual(loads);
  expect(await read('/server_info')).toMatchObject({
    models: [
      {
        info: { replicas: 2, maxRunningRequests: 32, memory: { budget: 8192 } },
        metrics: {
          ...{ running: 1, pages, grammars: { asked: 10 }, adapters: { loaded: 0, most: 8 } },
          replicas: [{ running: 0 }, { running: 1, waiting: 2, adapter: 'fake adapter' }],
        },
      },
    ],
  });
  const page = await (await fetch(`${url}/metrics`)).text();
  expect(page).toContain('svc:num_running_reqs{model_name="fake-chat",dp_rank="0"} 0');
  expect(page).toContain('svc:num_running_reqs{model_name="fake-chat",dp_rank="1"} 1');
  expect(page).toContain('svc:num_grammar_total{model_name="fake-chat"} 10');
  const other = 'Something else. '.repeat(9);
  const replies = [
    await post(ask(`a ${other}`)),
    await post(ask(`b ${other}`)),
    await post(ask(`a ${other}`)),
  ];
  expect(replies.map(({ headers }) => headers.get('x-svc-replica'))).toEqual(['0', '1', '0']);
});

it('a LoRA is loaded with all replicas or none, and unloaded from those that have it', async () => {
  const { fakes, replicated } = await startReplicas();
  const names = () => fakes.map(({ adapters }) => adapters.map(({ name }) => name));
  expect(await replicated.loadLora('poet', '/poet')).toMatchObject([{ name: 'poet', path: '/poet' }]);
  expect(names()).toEqual([['poet'], ['poet']]);
  const { loadLora } = fakes[1]!;
  fakes[1]!.loadLora = () => loadLora('late', '/missing');
  await expect(replicated.loadLora('late', '/late')).rejects.toThrow(/no folder/);
  expect(names()).toEqual([['poet'], ['poet']]);
  await fakes[0]!.loadLora('own', '/own');
  expect((await replicated.loadedLoras()).map(({ name }) => name)).toEqual(['poet', 'own']);
  expect(await replicated.unloadLora('own')).toHaveLength(1);
  await expect(replicated.unloadLora('own')).rejects.toMatchObject({ code: 'model_not_found' });
});

it('requests to an embedding model go to the replica with the least to do', async () => {
  const fakes = [createFakeEmbeddingModel(), createFakeEmbeddingModel()];
  const waiting = [...fakes];
  const model = await openReplicas(EMBEDDING, { model: 'fake', numGpus: 2 }, async () => waiting.shift()!);
  const run = async (text: string) => {
    for await (const event of model.generate({ inputs: [text] }))
      if (event.type === 'embedding') return event.values[0];
  };
  expect(await Promise.all(['A', 'B', 'C', 'D'].map(run))).toEqual(
    [65, 66, 67, 68].map((code) => code / 256),
  );
  expect(fakes.map(({ requests }) => requests.length)).toEqual([2, 2]);
  expect(await model.metrics()).toMatchObject({ texts: 6, steps: 4 });
  expect(model.info.maxQueuedRequests).toBe(256);
});
