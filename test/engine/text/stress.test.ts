// Many requests of every kind on few pages, some aborted at any moment: each generates the text that it generates alone, or a
// prefix of it.

import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { TextEvent, TextModel, TextRequest } from '../../../src/engine/text/calls/text-model.ts';
import { collect, openGolden } from '../fixture.ts';
import { randomInteger, randomOf } from '../random.ts';

function randomRequest(random: (below: number) => number): TextRequest {
  return {
    prompt: { ids: Array.from({ length: 1 + random(60) }, () => random(250)) },
    maxTokens: 1 + random(60),
    ignoreEos: random(4) > 0,
    n: randomOf(random, [1, 1, 1, 2]),
    ...randomOf<Partial<TextRequest>>(random, [
      { temperature: 0 },
      { temperature: 1.2, seed: random(1000) },
      { temperature: 0.7, seed: random(1000), topK: 5, minP: 0.05 },
      { temperature: 1, topP: 0.8, seed: random(1000), logitBias: { [random(250)]: 3, [random(250)]: -100 } },
      { temperature: 1, seed: random(1000), stop: [String.fromCharCode(65 + random(26))] },
      { temperature: 1, seed: random(1000), stopTokenIds: [random(250), random(250)] },
    ]),
  };
}

/** Starts a request and aborts it after some milliseconds. */
async function giveUp(model: TextModel, request: TextRequest, milliseconds: number) {
  const controller = new AbortController();
  setTimeout(() => controller.abort(), milliseconds);
  return collect(model.generate(request, { signal: controller.signal })).catch((error: { code: string }) => {
    expect(error.code).toBe('cancelled'); // before it began
    return { ids: [], text: [], ends: [] as TextEvent[] };
  });
}

test('requests on few pages, some given up, have the text they have alone', async () => {
  const random = randomInteger(11);
  const requests = Array.from({ length: 30 }, () => randomRequest(random));
  const roomy = await openGolden('qwen3');
  const alone: Awaited<ReturnType<typeof collect>>[] = [];
  for (const request of requests) alone.push(await collect(roomy.generate(request)));
  await roomy.close();

  const tight = await openGolden('qwen3', { maxTotalTokens: 320, maxRunningRequests: 6, prefillChunk: 32 });
  let aborted = 0;
  await Promise.all(
    requests.map(async (request, i) => {
      await sleep(random(200));
      const early = random(4) === 0;
      const said = await (early ? giveUp(tight, request, random(300)) : collect(tight.generate(request)));
      if (said.ends.some((end) => end.type === 'done' && end.finishReason === 'abort')) aborted++;
      if (!early) expect(said, `request ${i}`).toEqual(alone[i]);
      for (const [choice, ids] of said.ids.entries())
        expect(alone[i]!.ids[choice]?.slice(0, ids?.length)).toEqual(ids);
    }),
  );
  const metrics = await tight.metrics();
  await tight.close();
  expect(metrics).toMatchObject({ running: 0, waiting: 0, pages: { used: 0 } });
  expect(metrics.retractions).toBeGreaterThan(0);
  expect(metrics.sharedSteps).toBeGreaterThan(20);
  expect(aborted).toBeGreaterThan(0);
});

test("a stream gets a token at least every two chunks of another's 2,000-token prompt", async () => {
  const model = await openGolden('llama', { config: { max_position_embeddings: 4096 }, prefillChunk: 128 });
  const ids = Array.from({ length: 2000 }, (_, i) => (i * i * 7 + i) % 250);
  const seen: ('chunk' | 'token')[] = [];
  // Only whole characters, because a token could otherwise wait for the next one's bytes.
  const logitBias = Object.fromEntries(Array.from({ length: 288 - 128 }, (_, i) => [128 + i, -100]));
  const request = { prompt: { ids: [1, 2, 3] }, maxTokens: 200, temperature: 0, ignoreEos: true, logitBias };
  const stream = model.generate(request);
  const first = await stream.next();
  expect(first.value).toMatchObject({ type: 'accepted' });
  const running = (async () => {
    for await (const { type } of stream) if (type === 'delta') seen.push('token');
  })();
  while (seen.length === 0) await sleep(1);
  for await (const event of model.generate({ prompt: { ids }, maxTokens: 1, temperature: 0 }))
    if (event.type === 'prefill') seen.push('chunk');
  await running;
  await model.close();
  const chunks = seen.filter((what) => what === 'chunk').length;
  expect(chunks).toBeGreaterThanOrEqual(2000 / 128);
  expect(seen.slice(seen.indexOf('chunk'), seen.lastIndexOf('chunk')).join(' ')).not.toMatch(
    /chunk chunk chunk/,
  );
});
