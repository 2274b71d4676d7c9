// Clearing of KV pages before their first use, and again after an error that may have left anything in them; how many fit.

import { expect, it } from 'vitest';
import { fittingPages, PageCleaner, stateCopies } from '../../../../src/engine/text/kv/kv-pages.ts';
import { wholeLayout } from '../../../../src/engine/text/kv/page-layout.ts';
import { copiesBytes } from '../../../../src/engine/text/kv/state-mover.ts';
import { readShader } from '../../../../src/gpu/node.ts';
import { openPaperDevice } from '../../../../src/gpu/paper-device.ts';
import { openTestDevice } from '../../../gpu/test-device.ts';

it('a KV page is cleared before its first use alone, until the cleaner is restarted', async () => {
  const device = await openTestDevice();
  const [pages, words] = [2, 64];
  const cache = (label: string) =>
    device.tensor('kv', label, [pages * words], new Uint32Array(pages * words));
  const [keys, values] = [cache('keys'), cache('values')];
  const kv = { keys: keys.region!, values: values.region! };
  const cleaner = new PageCleaner(
    device,
    [kv.keys, kv.values].map(({ buffer }) => ({ buffer, bytes: 4 * words })),
    pages,
  );
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

it('copies of fixed states take a share of the pages that fit, and few bytes where they are small', () => {
  const layout = wholeLayout([{ kind: 'kv', kvHeads: 2, dims: 64, window: null }], 'f32');
  expect(layout.pageBytes).toBe(2 ** 15);
  expect(stateCopies(1000, layout, 0)).toBe(0);
  expect(stateCopies(1000, layout, 1024)).toBe(125);
  expect(stateCopies(1000, layout, 2 ** 20)).toBe(15);
  expect(stateCopies(10, layout, 2 ** 24)).toBe(4);
  const device = openPaperDevice({ shaders: readShader, memoryBudget: 2 ** 24 });
  const besides = (pages: number): number =>
    2 ** 20 + copiesBytes(stateCopies(pages, layout, 2 ** 18), 2 ** 18);
  const pages = fittingPages(device, layout, besides);
  const taken = (count: number): number => (count + 1) * layout.pageBytes + besides(count);
  expect([taken(pages) <= 2 ** 24, taken(pages + 1) <= 2 ** 24]).toEqual([true, false]);
  expect(() => fittingPages(device, layout, () => 2 ** 24)).toThrow('tokens of context need');
});
