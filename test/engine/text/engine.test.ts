// The engine as a whole on the golden checkpoints: what it generates is what transformers generates, however requests are
// batched, chunked, retracted or interrupted.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TextModel } from '../../../src/engine/text/calls/text-model.ts';
import { collect, goldenCases, greedy, openGolden, type GoldenName } from '../fixture.ts';

const NAMES: GoldenName[] = ['llama', 'mistral', 'qwen2', 'qwen3', 'qwen3-moe', 'olmoe'];

/** A pseudo-random prompt of a length, different for each seed, without repetitions that would hide a wrong offset. */
function prompt(length: number, seed: number): number[] {
  return Array.from({ length }, (_, i) => (i * i * 31 + i * 7 + seed * 13) % 250);
}

describe.each(NAMES)('%s', (name) => {
  test('32 greedy tokens equal those of transformers', async () => {
    for (const golden of goldenCases(name)) {
      if (!golden.greedy || golden.weights === 'int8' || golden.rope.rule === 'static') continue;
      const quantization = golden.weights === 'stored' ? 'none' : golden.weights;
      const model = await openGolden(name, { config: golden.config, quantization });
      const { ids } = await collect(model.generate(greedy(golden.greedy.prompt_ids, 32)));
      expect(ids[0], golden.name).toEqual(golden.greedy.tokens);
      await model.close();
    }
  });
});

describe('batching of requests', () => {
  let model: TextModel;
  beforeAll(async () => {
    model = await openGolden('qwen3', { prefillChunk: 32 });
  });
  afterAll(() => model.close());

  test('16 mixed requests equal 16 single ones, and share steps', async () => {
    const requests = Array.from({ length: 16 }, (_, i) => ({
      ...greedy(prompt(3 + ((i * 11) % 60), i), 5 + ((i * 7) % 20)),
      ...(i % 3 === 0 ? { temperature: 0.9, seed: i, topP: 0.9 } : {}),
    }));
    const single = [];
    for (const request of requests) single.push((await collect(model.generate(request))).ids[0]);
    const before = await model.metrics();
    const batched = await Promise.all(
      requests.map(async (request) => (await collect(model.generate(request))).ids[0]),
    );
    const after = await model.metrics();
    expect(batched).toEqual(single);
    expect(after.sharedSteps - before.sharedSteps).toBeGreaterThan(10);
    expect(after.pages.used).toBe(0);
    expect(after.running + after.waiting).toBe(0);
  });

  test('the same seed gives the same tokens, another seed others, each choice its own', async () => {
    const request = { prompt: { ids: prompt(9, 1) }, temperature: 1.5, maxTokens: 24, ignoreEos: true, n: 2 };
    const one = await collect(model.generate({ ...request, seed: 7 }));
    const again = await collect(model.generate({ ...request, seed: 7 }));
    const other = await collect(model.generate({ ...request, seed: 8 }));
    expect(again.ids).toEqual(one.ids);
    expect(one.ids[0]).not.toEqual(one.ids[1]);
    expect(other.ids[0]).not.toEqual(one.ids[0]);
  });

  test('a running stream gets a token at least every two chunks of a long prefill', async () => {
    const events: string[] = [];
    const stream = model.generate(greedy(prompt(4, 3), 60));
    for await (const event of stream) {
      if (event.type === 'delta') break;
    }
    const short = (async () => {
      for await (const event of model.generate(greedy(prompt(4, 3), 80)))
        if (event.type === 'delta') events.push('token');
    })();
    const long = (async () => {
      // A prompt that begins like no other here: the number of its chunks is that of the tokens that no cache has.
      for await (const event of model.generate(greedy(prompt(100, 23), 2))) {
        if (event.type !== 'prefill') continue;
        expect(event.cachedTokens).toBe(0);
        events.push('chunk');
      }
    })();
    await Promise.all([short, long]);
    const chunks = events.lastIndexOf('chunk');
    expect(events.filter((event) => event === 'chunk').length).toBeGreaterThanOrEqual(3);
    expect(events.slice(events.indexOf('chunk'), chunks).join(' ')).not.toMatch(/chunk chunk chunk/);
  });

  test('an aborted request frees its pages at once', async () => {
    const controller = new AbortController();
    let ended = null;
    for await (const event of model.generate(greedy(prompt(40, 1), 80), { signal: controller.signal })) {
      if (event.type === 'delta') {
        controller.abort();
        expect((await model.metrics()).pages.used).toBe(0);
      }
      if (event.type === 'done') ended = event.finishReason;
    }
    expect(ended).toBe('abort');
  });

  test('a reader that leaves frees its pages too', async () => {
    for await (const event of model.generate(greedy(prompt(40, 1), 80))) if (event.type === 'delta') break;
    expect((await model.metrics()).pages.used).toBe(0);
    expect((await model.metrics()).running).toBe(0);
  });
});

test('the chunk size changes no token', async () => {
  const request = greedy(prompt(90, 2), 20);
  const outputs = [];
  for (const prefillChunk of [16, 48, 128]) {
    const model = await openGolden('qwen3', { prefillChunk });
    outputs.push((await collect(model.generate(request))).ids[0]);
    await model.close();
  }
  expect(outputs[1]).toEqual(outputs[0]);
  expect(outputs[2]).toEqual(outputs[0]);
});

test('running out of pages retracts requests and changes no token', async () => {
  const requests = Array.from({ length: 6 }, (_, i) => greedy(prompt(30, i), 60));
  const roomy = await openGolden('qwen3');
  const expected = await Promise.all(
    requests.map(async (request) => (await collect(roomy.generate(request))).ids[0]),
  );
  const used = (await roomy.metrics()).pages.total;
  await roomy.close();
  const tight = await openGolden('qwen3', { maxTotalTokens: 256 });
  const actual = await Promise.all(
    requests.map(async (request) => (await collect(tight.generate(request))).ids[0]),
  );
  const metrics = await tight.metrics();
  await tight.close();
  expect(metrics.pages.total).toBeLessThan(used);
  expect(metrics.retractions).toBeGreaterThan(0);
  expect(metrics.pages.used).toBe(0);
  expect(actual).toEqual(expected);
});

test('two models on two devices work in one process', async () => {
  const [a, b] = await Promise.all([openGolden('llama'), openGolden('qwen2')]);
  const [first, second] = [goldenCases('llama')[0]!.greedy!, goldenCases('qwen2')[0]!.greedy!];
  const [x, y] = await Promise.all([
    collect(a.generate(greedy(first.prompt_ids, 32))),
    collect(b.generate(greedy(second.prompt_ids, 32))),
  ]);
  expect(x.ids[0]).toEqual(first.tokens);
  expect(y.ids[0]).toEqual(second.tokens);
  await Promise.all([a.close(), b.close()]);
});
