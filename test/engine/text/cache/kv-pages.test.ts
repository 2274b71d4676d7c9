// Clearing of KV pages before their first use, and again after an error that may have left anything in them.

import { expect, it } from 'vitest';
import { createPageCleaner } from '../../../../src/engine/text/cache/kv-pages.ts';
import { openTestDevice } from '../../../gpu/test-device.ts';

it('a page is cleared before its first use alone, until the cleaner is restarted', async () => {
  const device = await openTestDevice();
  const [pages, words] = [2, 64];
  const cache = (label: string) =>
    device.tensor('kv', label, [pages * words], new Uint32Array(pages * words));
  const [keys, values] = [cache('keys'), cache('values')];
  const kv = { keys: keys.region!, values: values.region! };
  const cleaner = createPageCleaner(device, [kv.keys.buffer, kv.values.buffer], pages);
  const nan = new Uint32Array(pages * words).fill(0x7fc00000);
  const dirty = (): void => {
    for (const { buffer } of [kv.keys, kv.values]) device.gpu.queue.writeBuffer(buffer, 0, nan);
  };
  const bits = async () => [...new Set(new Uint32Array(await device.read(kv.values)))];
  dirty();
  cleaner.ahead(1);
  expect(await bits()).toEqual([0]);
  dirty();
  cleaner.ahead(2);
  expect(await bits()).toEqual([0x7fc00000]);
  cleaner.restart();
  cleaner.ahead(1);
  expect(await bits()).toEqual([0]);
  device.destroy();
});
