// Pages copied out of the device.

import { expect, it } from 'vitest';
import { PageMover } from '../../../../src/engine/text/kv/page-mover.ts';
import { openTestDevice } from '../../../gpu/test-device.ts';

it('pages for whose copy there is no room are refused to the request that needs them, and to no other', async () => {
  const device = await openTestDevice();
  const [bytes, pages] = [2 ** 20, 4];
  const values = Uint32Array.from({ length: (pages * bytes) / 4 }, (_, i) => i);
  const cache = (label: string) => device.tensor('kv', label, [values.length], values).region!;
  const mover = new PageMover(device, 2 * bytes);
  mover.use(['keys', 'values'].map((label) => ({ buffer: cache(label).buffer, bytes })));
  const tooMany = Array<number>(1 + Math.ceil(device.capabilities.maxBufferSize / mover.bytes)).fill(1);
  await expect(mover.read(tooMany)).rejects.toThrow();
  await device.gpu.queue.onSubmittedWorkDone();
  expect(device.takeError()).toBeNull();
  const [page] = await mover.read([2]);
  expect(new Uint32Array(page!.buffer)[0]).toBe((2 * bytes) / 4);
  device.destroy();
});
