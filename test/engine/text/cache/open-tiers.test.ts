// What stored prompts are found by.

import { expect, test } from 'vitest';
import { openTiers } from '../../../../src/engine/text/cache/open-tiers.ts';
import type { TextModelOptions } from '../../../../src/engine/text/calls/text-model.ts';
import type { PageStorage, PageStorageOptions } from '../../../../src/engine/platform/platform.ts';
import { nodePlatform } from '../../../../src/host/node/platform.ts';

type Activations = 'float' | 'int8';

/** Under which name pages are stored of a model with such options, on a device with such kernels. */
async function nameOf(
  options: Partial<TextModelOptions>,
  activations: Activations = 'float',
): Promise<string> {
  let named = '';
  const platform = {
    ...nodePlatform,
    openPageStore: async ({ computed }: PageStorageOptions): Promise<PageStorage> => {
      named = computed;
      throw new Error('enough');
    },
  };
  const runner = { kvFormat: 'f16', drafts: null, copyBytes: 0, layout: { windows: [null], lanes: [] } };
  const parts = {
    device: { summary: { name: 'a GPU' }, profile: { activations } },
    runner,
    quantization: 'int8',
  };
  const given = { model: 'a', storageCache: 'pages', ...options };
  const place = { pages: {}, parts: () => parts, onTrouble: expect.fail };
  const checkpoint = { config: { hidden_size: 64 }, beside: null };
  await expect(openTiers(platform, checkpoint as never, given, place as never)).rejects.toThrow('enough');
  return named;
}

test('stored prompts are found by the same kernels only', async () => {
  const names = [
    await nameOf({}),
    await nameOf({}, 'int8'),
    await nameOf({ deterministic: true }),
    await nameOf({ batchInvariance: false }),
    await nameOf({ batchInvariance: false }, 'int8'),
  ];
  expect(new Set(names).size).toBe(names.length);
  expect(await nameOf({ deterministic: false, batchInvariance: true, hostCache: 2 ** 20 })).toBe(names[0]);
});
