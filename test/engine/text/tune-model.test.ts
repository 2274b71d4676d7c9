// Tuning of a language model: its products and attention are timed in the shapes of its steps, and a device that is opened later takes what was found.

import { expect, it, vi } from 'vitest';
import { nodePlatform } from '../../../src/host/node/platform.ts';
import { SearchTime } from '../../../src/engine/tuning/search-time.ts';
import { tuneModel } from '../../../src/engine/text/tune-model.ts';
import type { TunedVariants } from '../../../src/gpu/tuning.ts';
import { shippedModelPath } from '../../../src/files/shipped.ts';
import { openModelTestDevice } from '../../gpu/test-device.ts';

vi.setConfig({ testTimeout: 120_000 });

it('tuneModel() times the products of the steps, and keeps the fastest for devices that are opened later', async ({
  skip,
}) => {
  let kept: TunedVariants = {};
  const stepsOf = async (): Promise<string[]> => {
    const device = await openModelTestDevice();
    device.tuning.learn(kept);
    const asked = vi.spyOn(device.tuning, 'choose');
    if (!device.capabilities.timestamps) skip('the adapter has no timestamps');
    const platform = {
      ...nodePlatform,
      packed: null,
      openDevice: () => Promise.resolve(device),
      keepTuned: (_: unknown, tuned: TunedVariants) => {
        kept = { ...kept, ...tuned };
        return Promise.resolve();
      },
    };
    // A clock that ends the search after few trials.
    let now = 0;
    const time = new SearchTime(12, () => now++);
    const options = { model: shippedModelPath(), contextLength: 64, maxRunningRequests: 4, prefillChunk: 32 };
    const tuned = await tuneModel(platform, options, undefined, time);
    expect(tuned.isWhole).toBe(false);
    return asked.mock.calls.map(([key]) => key);
  };
  const asked = await stepsOf();
  const found = Object.keys(kept);
  expect(found.length).toBeGreaterThan(0);
  for (const key of found) expect(key).toMatch(/^(matmul|gemm) \w+, \d+ rows, \d+ columns, 1 x \d+$/);
  expect(asked).toEqual(expect.arrayContaining(found));
});

it('tuneModel() is refused if the adapter has no timestamps', async () => {
  const device = await openModelTestDevice();
  device.capabilities.timestamps = false;
  const platform = { ...nodePlatform, openDevice: () => Promise.resolve(device) };
  await expect(tuneModel(platform, { model: shippedModelPath() })).rejects.toMatchObject({
    code: 'unsupported',
    message: expect.stringContaining('no timestamps to tell fast kernels from slow ones'),
  });
});
