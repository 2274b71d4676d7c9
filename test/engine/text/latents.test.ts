// A cache of latents and of the keys by which they are chosen: a request's tokens depend neither on its batch nor on what was cached, pages pass through storage, the plan counts the latents
// alone, and codes are refused.

import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { TextModel } from '../../../src/engine/text/calls/text-model.ts';
import { planModel } from '../../../src/host/node/plan.ts';
import { collect, goldenModel, greedy, openGolden } from '../fixture.ts';

function prompt(length: number, seed: number): number[] {
  return Array.from({ length }, (_, i) => (i * i * 31 + i * 7 + seed * 13) % 250);
}

const SHARED = prompt(70, 1);
const REQUESTS = [0, 1, 2, 3].map((i) => greedy([...SHARED, ...prompt(1 + 9 * i, i)], 12));

const idsOf = async (model: TextModel, request: (typeof REQUESTS)[number]): Promise<number[]> =>
  (await collect(model.generate(request))).ids[0]!;

it('a request has the same tokens alone, together, cached, retracted, stored, and as its own prompt', async () => {
  const alone: number[][] = [];
  {
    await using model = await openGolden('deepseek-v32', { prefixCache: false });
    for (const request of REQUESTS) alone.push(await idsOf(model, request));
    // Generated tokens, given as a prompt, leave the same latents.
    const last = alone[3]!;
    const whole = [...SHARED, ...prompt(28, 3), ...last.slice(0, 8)];
    expect(await idsOf(model, greedy(whole, 4))).toEqual(last.slice(8));
    expect(model.info.kvCacheDtype).toBe('f16');
  }
  const storageCache = mkdtempSync(join(tmpdir(), 'svc-latents-'));
  {
    await using few = await openGolden('deepseek-v32', {
      maxTotalTokens: 160,
      prefillChunk: 32,
      storageCache,
    });
    const together = () => Promise.all(REQUESTS.map((request) => idsOf(few, request)));
    expect(await together()).toEqual(alone);
    expect(await together()).toEqual(alone);
    const { cache, retractions } = await few.metrics();
    expect(retractions + cache.evicted).toBeGreaterThan(0);
    expect(cache.hitRate).toBeGreaterThan(0);
  }
  await using later = await openGolden('deepseek-v32', { storageCache });
  expect(await idsOf(later, REQUESTS[3]!)).toEqual(alone[3]);
  expect((await later.metrics()).cache.fetched).toBeGreaterThanOrEqual(64);
});

it("the plan counts a latent, a rotated key and an indexer's key for each token and layer", async () => {
  const golden = goldenModel('deepseek-v32', {});
  const plan = await planModel({ model: golden.path });
  golden.remove();
  expect(plan.cache).toMatchObject({ dtype: 'f16', tokenBytes: 2 * (32 + 8 + 12) * 2 });
});

it.each(['fp8_e4m3', 'int8', 'int4'] as const)('a cache in %s is refused', async (kvCacheDtype) => {
  await expect(openGolden('deepseek-v32', { kvCacheDtype })).rejects.toMatchObject({
    code: 'unsupported',
    param: 'kvCacheDtype',
    message: expect.stringContaining('which keeps latents in place of keys'),
  });
});
